"""The surroundings of a process: Java, jars, class archives, file locks, identities. Read ``jars.py`` first."""
