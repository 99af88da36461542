"""Floor 6: what a run will cost and what its data can show, before anything is spent."""
