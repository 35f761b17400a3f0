"""``bench erasure``: erasure-coded files in HDFS beside replicated ones. Read ``run.py`` first."""
