"""The embedded memory: Hindsight's interface over the application's own database."""
