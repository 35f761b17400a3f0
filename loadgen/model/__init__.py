"""A discrete-event simulation of ingest into Accumulo, calibrated on small clusters, that predicts larger ones."""
