"""How each agent CLI is started without a person, and how its records are read. Standard library only."""
