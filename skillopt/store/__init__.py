"""Floor 1: what survives the process: the journal, atomic files, the run lock. Standard library and `core` only."""
