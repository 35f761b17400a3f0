"""The environment of processes: Java, jars, class archives, file locks, identities. Read ``jars.py`` first."""
