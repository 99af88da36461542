"""Floor 1: the run as a published, versioned format. Standard library only; see `schema`, `events`, `reading`."""
