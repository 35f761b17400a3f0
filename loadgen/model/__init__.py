"""A model of ingest into Accumulo, calibrated on small clusters, that predicts larger ones and sizes them."""
