"""For all tests: no deadline for hypothesis (the machine may be busy), and no network but this machine's own.

The second is `pytest-socket` with `--allow-hosts` in pyproject.toml: a test that would reach out fails.
"""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("patient", deadline=None)
settings.load_profile("patient")
