"""Rules that a skill's text should keep, as pure functions: text in, findings out. `lint` is the door."""

from skillopt.core.lint.finding import Document, Finding, Header, Severity
from skillopt.core.lint.rules import lint, new_errors

__all__ = ["Document", "Finding", "Header", "Severity", "lint", "new_errors"]
