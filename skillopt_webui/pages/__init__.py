"""Pages to configure, start and watch."""
