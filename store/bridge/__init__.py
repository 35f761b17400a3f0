"""The bridge into the JVM: record batches in, record batches out. Read ``call.py`` first, then ``streams.py``."""
