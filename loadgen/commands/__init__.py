"""The commands that the load generator adds to the command line, found by an entry point."""
