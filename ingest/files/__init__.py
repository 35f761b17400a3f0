"""Reads log files.

``open_file.py`` opens them without following links, ``file_scan.py`` gives a file its identity and cuts it into
byte ranges, ``lines.py`` reads the lines of a range, ``gzip_reader.py`` inflates for both. ``other_files.py``
recognises what is no log.
"""
