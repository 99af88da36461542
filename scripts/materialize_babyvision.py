"""Write BabyVision's splits and images: the same command as `skillopt data get babyvision`."""

from skillopt.cli.main import data_main

if __name__ == "__main__":
    data_main("babyvision")
