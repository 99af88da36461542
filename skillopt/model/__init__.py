"""Floor 2: one request, one response. Backends, limiter, retry, price, usage."""
