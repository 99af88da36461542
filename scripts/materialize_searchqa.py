"""Write SearchQA's splits from the published id manifests: the same command as `skillopt data get searchqa`."""

from skillopt.cli.main import data_main

if __name__ == "__main__":
    data_main("searchqa")
