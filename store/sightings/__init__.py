"""The table of sightings, which all sources share: where a value occurs. Read ``item_sightings.py`` first."""
