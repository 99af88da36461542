"""ALFWorld: household tasks in a text game, one episode an item (hard: won)."""
