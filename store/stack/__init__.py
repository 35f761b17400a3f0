"""The local stack: ZooKeeper, Accumulo and Kafka as processes of this machine. Read ``stack.py`` first."""
