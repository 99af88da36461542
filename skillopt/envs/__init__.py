"""Floor 3: what a task is and how it is scored. An environment is a loader, a prompt builder and a scorer."""
