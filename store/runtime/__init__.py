"""What processes run on and share: Java, jars, class archives, file locks, identities. Read ``jars.py`` first."""
