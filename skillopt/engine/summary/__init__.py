"""What a run comes to: its scores, the sentence about them, and `summary.json` made of both."""
