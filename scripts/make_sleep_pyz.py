"""Build `skillopt-sleep.pyz`: `python scripts/make_sleep_pyz.py [FILE]`."""

from __future__ import annotations

import sys
from pathlib import Path

from skillopt.sleep.pyz import build

if __name__ == "__main__":
    target = Path(sys.argv[1] if len(sys.argv) > 1 else "skillopt-sleep.pyz")
    print(f"{target}: {build(target):,} bytes")
