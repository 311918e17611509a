"""Alerts in, investigation, diagnosis, outcome, memory. ``docs/architecture.md`` says what stands where."""
