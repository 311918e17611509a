"""What a person can do, and what a worker does on their behalf: one file for each noun."""
