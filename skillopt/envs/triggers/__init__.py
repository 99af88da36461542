"""Whether an agent finds a skill when it should, and leaves it alone when it should not: the description is trained."""
