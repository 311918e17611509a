"""Pages, one file for each noun."""
