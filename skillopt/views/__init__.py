"""What people look at: a run's records as view models, which the command line prints and the page draws."""
