"""What a person can do with lessons."""
