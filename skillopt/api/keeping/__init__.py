"""Keeping a skill good: skills measured side by side, suites made out of runs, checks of a changed skill or model."""
