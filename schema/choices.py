"""The names that users choose from, on the command line and in REST requests.

This file imports nothing, so that ``--help`` and shell completion need not load the rooms that implement the choices.
"""

AUTO = "auto"
"""The scheme that lets the planner choose."""
FIXED_SCHEMES = ("scan", "batched-scan", "index", "batched-index")
"""The paper's ways to run a query."""
SCHEMES = (AUTO, *FIXED_SCHEMES)
PLANNERS = ("full", "paper")
"""Sets of planner rules. ``full`` compares the paths of all rules by their estimated times; ``paper`` has the paper's
four rules and considers, beside the scan, only the first path through the index."""
BUCKETS = ("minute", "hour", "day")
"""Widths of a timeline's buckets."""
OUTPUT_FORMATS = ("table", "ndjson", "csv", "arrow")
"""Formats of a query's events."""
ROW_FORMATS = ("table", "ndjson", "csv")
"""Formats of short answers, for example of counts."""
LAYOUTS = ("block", "cell")
"""Ways to store a source's events."""
INGEST_MODES = ("live", "bulk")
"""Ways to write events: as mutations, or as files that are imported."""
MAX_DEADLINE = 7 * 86_400
"""The longest deadline of a query, in seconds."""
TOKEN_ROLES = ("analyst", "operator", "admin")
"""Roles of bearer tokens. An analyst asks for events and counts, an operator for the state of the
service, an admin both."""
LIST_SCALARS = ("ip", "string", "int", "float", "port", "time", "bool")
LIST_KINDS = ("domain", "hash", "url", "email", "mac")
"""Kinds of strings that are told by their form."""
LIST_TYPES = (*LIST_SCALARS, *LIST_KINDS)
"""Types of the values of named lists."""
