"""The driver's model proxy: how agent programs on other machines reach a model without its key."""
