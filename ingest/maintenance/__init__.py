"""Work on events and lines in the store that an operator asks for: ``compact.py`` merges the blocks of a source,
``retry.py`` parses quarantined lines again."""
