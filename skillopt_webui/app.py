"""`python -m skillopt_webui.app`: the documented door of the dashboard."""

from __future__ import annotations

import sys

import typer

from skillopt.core.errors import SkillOptError
from skillopt_webui.door import ui


def main() -> None:
    """Serve; what the user can correct is one line."""
    try:
        typer.run(ui)
    except SkillOptError as error:
        sys.stderr.write(f"error: {' '.join(str(error).split())}\n")
        sys.exit(2)


if __name__ == "__main__":
    main()
