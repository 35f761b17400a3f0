"""Alerts: the matches of rules among events as they arrive, each told once.

``changes.py`` finds the minutes that have new events, ``detect.py`` runs the rules over them, ``alert_state.py`` keeps
durably how far each source was looked at and which alerts there are, and ``webhook.py`` posts them.
"""
