"""A run while it goes on: lines, a live bar, a sign of life, the published log."""
