"""The queue of work items: ``item.py`` is what it carries, ``work_queue.py`` sends and receives through Kafka,
``inbox.py`` decides what may be committed."""
