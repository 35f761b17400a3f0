"""Log files that stand in an object store or in HDFS: ``s3://bucket/key`` and ``hdfs://host:port/path``."""
