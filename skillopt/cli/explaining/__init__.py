"""Skills and runs explained on the screen: `ablate`, `blame`, `diff`, `lint`, `show` and `view`."""
