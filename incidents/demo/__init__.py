"""Example data for the local profile: one invented company, two teams, three projects. Nothing in it is real."""
