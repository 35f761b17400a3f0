"""Decompresses files: gzip, bzip2, xz, zstd and lz4, told by their first bytes.

``table.py`` names the compressions, ``gzip_reader.py`` inflates gzip, ``frame_reader.py`` unpacks the others.
"""
