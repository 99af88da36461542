"""From a trained text to a skill that agents find: the package, where it goes, and the way back."""
