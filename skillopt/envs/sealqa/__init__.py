"""SealQA: questions whose search results conflict, mislead or are stale; graded by a judge."""
