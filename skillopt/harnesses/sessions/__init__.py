"""The session files that agent programs leave, read as what was said and done."""
