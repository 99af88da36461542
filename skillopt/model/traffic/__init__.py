"""How much is asked at once, how often again, and when to stop asking: one endpoint, all roles."""
