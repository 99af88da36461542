"""Write SealQA's splits: the same command as `skillopt data get sealqa`."""

from skillopt.cli.main import data_main

if __name__ == "__main__":
    data_main("sealqa")
