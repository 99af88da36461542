"""`python -m skillopt.sleep`: the same door as the console script `skillopt-sleep`."""

from __future__ import annotations

import sys

from skillopt.sleep.cli.main import main

if __name__ == "__main__":
    sys.exit(main())
