"""Reads the members of archives in place: nothing is unpacked to disk, so a member's name can do no harm.

``archive.py`` tells archives by their first bytes and lists their members, ``tar_archive.py`` and ``zip_archive.py``
read the two kinds.
"""
