"""A project for a user's own tasks: what `skillopt init` writes."""
