"""Screens of the commands that hold skills against each other and against what they were."""
