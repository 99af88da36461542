"""SearchQA: short answers to trivia questions from retrieved passages (hard: exact match, soft: token F1)."""
