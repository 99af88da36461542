"""Whether a candidate is kept: the rules, and what they measure."""
