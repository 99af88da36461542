"""The factorial search as a run: rounds of rollouts with random parts of the pool, then one proof."""
