"""What an operator has done to events and lines that are in the store: ``compact.py`` merges the blocks of a source,
``retry.py`` parses quarantined lines again."""
