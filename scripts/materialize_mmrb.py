"""Write MMRB's splits and images: the same command as `skillopt data get mmrb`."""

from skillopt.cli.main import data_main

if __name__ == "__main__":
    data_main("mmrb")
