"""Scaffold of an environment with code. Copy this folder, rename it, change the three files.

Then name the class in a configuration:

    env: {name: "my_env.adapter:MyEnv"}

or `path/to/my_env/adapter.py:MyEnv`. A package of yours may register a short name in its `pyproject.toml`:

    [project.entry-points."skillopt.envs"]
    my_env = "my_package.my_env.adapter:MyEnv"

The scaffold is complete: as it stands it asks for the number of letters in a word.
"""
