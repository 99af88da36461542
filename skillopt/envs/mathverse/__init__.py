"""MathVerse: school mathematics with a diagram, in versions that move text into the picture."""
