"""What can be typed: one function a command with its arguments and its help.

These modules import typer and nothing heavy; a command imports its body when it runs. So `--version`, `--help` and a
misspelt option answer at once, whichever command they belong to.
"""
