"""From log files to the store. Reading order: ``master``, ``worker``, ``load``; ``parsers`` has the formats."""
