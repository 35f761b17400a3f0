"""The processes of the other engines: ``peer_process`` starts and asks them, ``peer_main`` is what each of them runs.

Read ``peer_process`` first.
"""
