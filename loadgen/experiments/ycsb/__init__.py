"""``bench ycsb``: YCSB's workloads by its own client. Read ``run.py`` first."""
