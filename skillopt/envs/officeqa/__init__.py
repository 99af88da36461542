"""OfficeQA: questions about figures in parsed Treasury bulletins (hard: normalised exact match, soft: token F1)."""
