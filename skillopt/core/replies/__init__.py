"""What a reply of a model is besides its answer: reasoning, a reason to end, a failure told in its body."""
