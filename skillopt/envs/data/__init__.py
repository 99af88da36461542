"""Items from files: reading, splitting, and the demo's own."""
