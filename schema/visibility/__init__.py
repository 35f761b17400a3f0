"""Visibility expressions of sources and fields, and the part of a source that a reader's labels let through."""
