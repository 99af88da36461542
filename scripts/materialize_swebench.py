"""Write SWE-bench's splits: the same command as `skillopt data get swebench`."""

from skillopt.cli.main import data_main

if __name__ == "__main__":
    data_main("swebench")
