"""The queue of work items.

``item.py`` defines the items, ``work_queue.py`` sends and receives through Kafka, ``item_buffer.py`` decides what may
be committed.
"""
