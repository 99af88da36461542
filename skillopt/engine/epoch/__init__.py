"""What happens between two epochs."""
