"""Floor 4: turning rollouts into edits. Reflect, aggregate, select, race; each stage is a function of its inputs."""
