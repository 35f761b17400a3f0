"""Netflow events: ``feed`` renders their lines from the fragments in ``vocabulary``. Read ``feed`` first."""
