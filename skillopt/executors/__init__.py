"""Executors that need more than the standard library and this machine, each in a folder of its own.

The protocol, the default and everything a worker shares stand in `skillopt.work`.
"""
