"""The processes of the other engines: ``peer_process`` starts and asks them, and each of them runs ``peer_main``.

Read ``peer_process`` first.
"""
