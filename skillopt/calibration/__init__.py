"""A judge held against people: does it say what they say, does it say the same twice, does order sway it?

`labels` reads answers with human labels, `draws` asks the judge as a run would, `figures` makes numbers of both.
"""
