"""Write SpreadsheetBench's splits and workbooks: the same command as `skillopt data get spreadsheetbench`."""

from skillopt.cli.main import data_main

if __name__ == "__main__":
    data_main("spreadsheetbench")
