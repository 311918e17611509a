"""The outside services behind small interfaces of our own. Nothing here imports an app that holds incidents or people."""
