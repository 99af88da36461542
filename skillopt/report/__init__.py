"""What a run came to, in words: report.md, made of the run's records and nothing else."""
