"""Work on a Ray cluster: `executor.kind: ray`, extra `ray`.

`executor` and `link` belong to the run's process and never import Ray. `pool` is the program of a child process that
holds the connection: `cluster` connects, `crew` has the workers, `desk` answers the run. `actor` is what runs on nodes.
"""
