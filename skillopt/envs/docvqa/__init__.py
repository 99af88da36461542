"""DocVQA: questions on scanned pages (hard: ANLS of at least 0.999, soft: ANLS)."""
