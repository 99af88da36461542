"""Runs that are started from a page: which configuration, with what, in which directory, and the queue."""
