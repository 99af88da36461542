"""Runs from a configuration to their end: training, several seeds, evaluation, calibration; and who watches them."""
