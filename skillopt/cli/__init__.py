"""Floor 7: the command line. Reads arguments, draws progress, shows results. No decision about a run is taken here."""
