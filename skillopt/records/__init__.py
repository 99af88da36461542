"""Floor 1: the run as a published format. Standard library only; what other programs read of a run is here."""
