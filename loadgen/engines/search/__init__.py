"""Search engines: Tantivy, a library, and OpenSearch, a server. Read ``tantivy_engine`` first."""
