"""Backups: the entries of a source as sorted files with a manifest, and back into a store (``docs/maintenance``)."""
