"""The servers of a stack: their configuration, their command lines, and their processes."""
