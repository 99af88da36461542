"""What a run tells while it goes on: events in order, to observers that cannot delay it."""
