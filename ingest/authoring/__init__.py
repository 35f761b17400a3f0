"""Help for those who write source definitions: a definition is tried on a file, or proposed from one."""
