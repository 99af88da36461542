"""Whether items and a scorer can train a skill, found before anything is spent; and the score of one answer alone."""
