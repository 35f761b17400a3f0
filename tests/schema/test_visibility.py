"""An expression is satisfied by the labels that Accumulo would let through, joined expressions too.

In `make test`: it needs no servers.
"""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from watchfloor.schema.visibility.expressions import is_satisfied, join_expressions

LABELS = ("a", "b", "tlp:red/x", "c.d")
groups = st.sets(st.sampled_from(LABELS))
expressions = st.builds(lambda names, by: by.join(sorted(names)), groups, st.sampled_from("&|"))


@given(groups, groups)
def test_all_or_any_of_the_labels_are_needed(names: set[str], held: set[str]) -> None:
    assert is_satisfied("&".join(names), held) == (names <= held)
    assert is_satisfied("|".join(names), held) == (not names or bool(names & held))


@given(st.lists(expressions, max_size=5), groups)
def test_a_joined_expression_needs_every_part(parts: list[str], held: set[str]) -> None:
    assert is_satisfied(join_expressions(parts), held) == all(is_satisfied(part, held) for part in parts)
