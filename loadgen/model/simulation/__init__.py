"""The simulation of ingest: clients, tablet servers, tablets, nodes. ``simulate.py`` has the function to call."""
