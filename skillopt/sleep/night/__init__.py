"""The course of a night: incumbent, reflection, screen, trial, confirmation, staging, report."""
