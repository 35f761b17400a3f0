"""From a filter's text to events. Reading order: ``service``, ``language``, ``typing``, ``batching``, ``executor``."""
