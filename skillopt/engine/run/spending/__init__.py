"""What a run spends: caps reserved before each call, the bill, the clock."""
