"""The REST API, one file for each noun; calls the same services as the pages."""
