"""The door for programs: what `import skillopt` offers. Command line and dashboard call this and nothing deeper.

`request` turns arguments into a configuration and the objects that no configuration can hold; `training` and
`evaluating` open the same runs that the command line opens; `result` reads what they wrote. Importing a module of this
room imports nothing of third parties: the engine is imported when a run begins.
"""
