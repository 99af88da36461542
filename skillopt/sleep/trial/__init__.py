"""The gate of the night: whether held-out tasks show that a proposal helps, and what could be shown at all."""
