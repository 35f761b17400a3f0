"""The queue of work items.

``item.py`` defines the items, ``message.py`` signs them and checks what comes in, ``work_queue.py`` sends and receives
through Kafka, ``item_buffer.py`` decides what may be committed, ``waiting.py`` reads what waits.
"""
