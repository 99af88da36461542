"""Factorial search: edits as factors that are in or out of the skill, every training rollout a test of many of them."""
