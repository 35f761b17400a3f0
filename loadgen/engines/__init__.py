"""Engines that are asked the same questions about the same events: Watchfloor's layouts, and other products.

``question`` and ``answer`` define the questions and the answers, ``engine`` is the contract of the other engines.
``sql`` and ``search`` implement it, ``peers`` runs each in its own process, and ``rounds`` asks all of them. Read
``rounds`` first.
"""
