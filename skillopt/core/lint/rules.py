"""All rules over one document, and what of it a change has made worse."""

from __future__ import annotations

from collections import Counter

from skillopt.core.lint.finding import Document, Finding
from skillopt.core.lint.header import header_rules
from skillopt.core.lint.prose import prose_rules
from skillopt.core.lint.safety import safety_rules
from skillopt.core.lint.shape import shape_rules

RULES = (header_rules, safety_rules, shape_rules, prose_rules)


def lint(document: Document) -> list[Finding]:
    """Every finding, by line, errors first where lines are equal."""
    found = [finding for rule in RULES for finding in rule(document)]
    return sorted(found, key=lambda f: (f.line, f.severity, f.rule, f.message))


def new_errors(before: Document, after: Document) -> list[Finding]:
    """Errors of `after` that `before` does not have, however lines have moved: what a change is to blame for.

    Only the rules that can find errors are asked, so this is quick enough for every edit of every candidate.
    """
    had = Counter((f.rule, f.subject) for f in _errors(before))
    fresh: list[Finding] = []
    for finding in _errors(after):
        if had[finding.rule, finding.subject] > 0:
            had[finding.rule, finding.subject] -= 1
        else:
            fresh.append(finding)
    return fresh


def _errors(document: Document) -> list[Finding]:
    asked = (header_rules, safety_rules, shape_rules)
    return [finding for rule in asked for finding in rule(document) if finding.severity == "error"]
