"""Keeps what people save: their searches."""
