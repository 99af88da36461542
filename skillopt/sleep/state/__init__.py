"""Where the companion keeps things, who may read them, and how they are written."""
