"""One file a provider, and what they share at the wire."""
