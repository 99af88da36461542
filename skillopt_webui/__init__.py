"""The dashboard: configure, start, watch and understand runs. It reads `records` and `views` and calls `api`."""
