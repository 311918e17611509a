"""The outside services behind small interfaces of our own. Imports no app that holds incidents or people."""
