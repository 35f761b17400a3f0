"""Turns files that hold records in another form than lines into lines, as they are read.

``json_documents.py`` reads arrays and documents of JSON, ``evtx_records.py`` Windows event log files, ``xml_events.py``
Windows events as XML; ``container.py`` tells them by their beginning.
"""
