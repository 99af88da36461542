"""Opening and owning a run: its directory, its models, its budget, its observers."""
