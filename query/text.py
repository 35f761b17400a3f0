"""Filter tree → text; the writer itself lies in the planner's room, whose plans print filters."""

from watchfloor.planner.text import field_text, to_text, value_text

__all__ = ["field_text", "to_text", "value_text"]
