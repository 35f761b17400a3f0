"""Everything that touches the JVM or a server.

Reading order: ``store`` (the connection), ``layout`` and ``cell`` (how events become entries), ``writer`` (how they get
in), ``counts`` (the aggregates), ``bridge`` (how batches cross into Java), ``stack`` (the local servers).
"""
