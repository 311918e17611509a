"""One file for each alert source: a raw body becomes normal alerts; fingerprint and repeats."""
