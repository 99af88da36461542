"""Views that say why: lineage, skill, items, flips, cost, comparison, review."""
