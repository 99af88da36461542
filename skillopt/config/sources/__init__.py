"""Where values come from: files, variables, flags; each is a layer."""
