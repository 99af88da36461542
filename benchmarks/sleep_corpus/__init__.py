"""Synthetic months of sessions with known truth, in the formats of three agents, and what mining makes of them."""
