"""Ingest brings log files into the store.

Reading order: ``intake/master.py`` (files become work items on the queue), ``worker/worker.py`` (a worker takes items),
``reading/item_reader.py`` (an item becomes events); ``formats/`` holds a folder for each text format.
"""
