"""Evaluate a skill: the same command as `skillopt eval`."""

from skillopt.cli.main import eval_main

if __name__ == "__main__":
    eval_main()
