"""What a text says: facts, credentials, quotes. The bottom room, which the others read with."""
