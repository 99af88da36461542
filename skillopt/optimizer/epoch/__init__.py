"""The optimizer's calls at an epoch's end, and the pairs of attempts that they read."""
