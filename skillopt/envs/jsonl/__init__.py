"""Your own tasks without code: an item file, a prompt template and a scorer, all named in YAML."""
