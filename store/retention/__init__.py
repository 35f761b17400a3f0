"""Retention: how long events of a source are kept, the first time that is shown, and the removal of older ones."""
