"""One file a provider; `wire` is what they share."""
