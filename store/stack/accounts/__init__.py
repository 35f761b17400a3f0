"""The accounts with which servers and clients of a stack authenticate to ZooKeeper and Kafka."""
