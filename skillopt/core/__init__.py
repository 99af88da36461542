"""Floor 0: the nouns of the system. Frozen dataclasses and pure functions, standard library only, no I/O."""
