"""Who exists and who may do what: users, teams, projects, banks, keys, audit. ``access`` is the one gate."""
