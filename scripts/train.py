"""Train a skill: the same command as `skillopt train`."""

from skillopt.cli.main import train_main

if __name__ == "__main__":
    train_main()
