"""One module a batch API: how rows are handed over, found again, and read back."""
