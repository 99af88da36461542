"""Published data sets: where a benchmark's items come from, and how they become the files that its environment reads.

`dataset` is the contract, `catalogue` the list; `joined` serves data sets that are files on the hub joined with an id
manifest. Nothing here is imported by a run.
"""
