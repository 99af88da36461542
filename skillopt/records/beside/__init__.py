"""What is measured or decided beside a training run: ablations, judges, evaluations, seeds, reviews."""
