"""What a program hands in: items, a scorer, models, an environment, a configuration; and who they are to a run."""
