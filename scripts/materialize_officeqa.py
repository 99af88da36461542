"""Write OfficeQA's splits from the gated files: the same command as `skillopt data get officeqa`."""

from skillopt.cli.main import data_main

if __name__ == "__main__":
    data_main("officeqa")
