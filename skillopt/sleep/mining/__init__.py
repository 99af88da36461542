"""From sessions to tasks: requests, what was said to their answers, which of them keep coming back, and the split.

Nothing here needs a model: `miner` holds what one is asked and how its reply is read.
"""
