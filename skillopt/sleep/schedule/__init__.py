"""Nightly runs by the system's own scheduler: what would be installed is printed, and installed only when asked."""
