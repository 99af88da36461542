"""SpreadsheetBench: a program that edits a workbook (hard: all test cases pass, soft: their share)."""
