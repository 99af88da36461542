"""The embedded model: its file, its engine's process, and the backend on top of them."""
