"""A toy project and a rule table in the place of a model: a whole night without a key or a network."""
