"""SWEBench: repositories with an issue to fix."""
