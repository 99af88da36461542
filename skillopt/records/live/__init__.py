"""A run while it goes on: its events as they come, its pulse, and orders to it."""
