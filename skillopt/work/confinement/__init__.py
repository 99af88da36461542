"""Code that a model wrote, confined: the sandbox, what runs within it, and the checks of a skill's own scripts."""
