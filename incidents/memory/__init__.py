"""What is remembered: records, the outbox, recall, and the relevance gate."""
