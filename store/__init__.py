"""Everything that touches the JVM or a server: Accumulo, its tables, and the local stack.

Read ``store.py`` first, then ``catalog.py`` and ``snapshot.py``; ``layout.py`` says how events become entries, and
``layouts/`` holds the two ways. ``bridge/`` crosses into Java, ``stack/`` runs the local servers.
"""
