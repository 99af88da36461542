"""Environments as tasks of other evaluation libraries."""
