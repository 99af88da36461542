"""The shapes that optimizer replies must have."""
