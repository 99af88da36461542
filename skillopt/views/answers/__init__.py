"""Items and their answers: over all measurements, side by side, and single attempts."""
