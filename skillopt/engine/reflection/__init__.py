"""Reflection beside the step's analysts: deep reflection, and reminders in the skill's appendix."""
