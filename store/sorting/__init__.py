"""Events in the order of some fields: what tablet servers are sent, the keys that they sort by, and their answers."""
