"""The parts that every feed is built from: its contract, random draws, event times, JSON fragments, the network model.

Read ``event_feed`` first.
"""
