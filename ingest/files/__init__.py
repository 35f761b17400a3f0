"""Reads log files.

``open_file.py`` opens them without following links, ``content.py`` takes away what they are packed in
(``compressions``, ``archives``, ``containers``), ``file_scan.py`` gives a file its identity and cuts it into byte
ranges, ``lines.py`` reads the lines of a range. ``other_files.py`` recognises what is no log.
"""
