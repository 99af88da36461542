"""`python -m skillopt` is the command `skillopt`."""

from skillopt.cli.main import main

if __name__ == "__main__":
    main()
