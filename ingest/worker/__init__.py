"""The worker processes that take work items from the queue.

``worker.py`` is the flow (read it first), ``item_handler.py`` handles one item, ``pool.py`` starts the processes.
"""
