"""Scaffold of an environment with code. Copy this folder, rename it, change the three files, register the class.

Register it in your package's `pyproject.toml`:

    [project.entry-points."skillopt.envs"]
    my_env = "my_package.my_env.adapter:MyEnv"

The scaffold is complete: as it stands it asks for the number of letters in a word.
"""
