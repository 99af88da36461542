"""A run while it goes on: its events folded into what a page shows, and pushed."""
