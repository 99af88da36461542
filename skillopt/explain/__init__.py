"""Floor 6: what put each line of a skill there, and what it is worth. Reads the records of runs."""
