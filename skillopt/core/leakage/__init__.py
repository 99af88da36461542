"""Answers and items that a candidate text copied instead of learning from them. `LeakIndex` is the door."""

from skillopt.core.leakage.index import LeakIndex, strip_leaks
from skillopt.core.leakage.leak import Leak, VetoedEdit

__all__ = ["Leak", "LeakIndex", "VetoedEdit", "strip_leaks"]
