"""Write ALFWorld's splits of the downloaded games: the same command as `skillopt data get alfworld`."""

from skillopt.cli.main import data_main

if __name__ == "__main__":
    data_main("alfworld")
