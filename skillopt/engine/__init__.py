"""Floor 5: the trainer and what it stands on: run directory, resume, budget, events."""
