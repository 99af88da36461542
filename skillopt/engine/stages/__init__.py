"""What the stages of one step do, what each finds, and the views of it; `engine/step.py` is the line they stand in."""
