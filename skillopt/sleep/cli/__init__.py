"""The command line: arguments in, a screen out. What is decided is decided in the rooms beside it."""
