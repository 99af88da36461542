"""BabyVision: visual puzzles that small children solve; answers in a box, judged strictly."""
