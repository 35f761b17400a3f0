"""YCSB on tables of the store, by its own client. Read ``ycsb_client.py`` first."""
