"""Whether a candidate is kept: the rules, what they ask, and the one way in which a decision is taken.

`rule.py` is the seam, `strict.py`, `paired.py` and `off.py` are its rules, `choose.py` picks the one that a
configuration asks for, `decide.py` is how steps, notes and epoch ends come to a decision.
"""
