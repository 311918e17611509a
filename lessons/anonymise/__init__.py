"""Text in, clean text and findings out. No models, no views, no clock, no network: the same code for every reader.

``cleaning.anonymise`` is the door; ``names.Names`` says what the platform knows. ``layers`` reads a text in all its
spellings, ``names``, ``shapes``, ``network``, ``dates`` and ``prose`` find, ``cleaning`` replaces.
"""
