"""Shannon's entropy of text.

Results must not depend on where they are computed, or a condition could hold in one place and fail in another. So
logarithms are computed from sums, products and quotients alone, which IEEE 754 rounds in one way, and Java's
``watchfloor.iterators.expression.Entropy`` takes the same steps.
"""

from __future__ import annotations

import math
from collections import Counter
from functools import lru_cache

_TERMS = 22
"""The terms of the series below: the rest is smaller than a double's rounding."""


@lru_cache(maxsize=4_096)
def log2(number: int) -> float:
    """Returns the binary logarithm of a positive integer; exact for powers of two."""
    exponent = number.bit_length() - 1
    fraction = number / (1 << exponent)
    # ln(x) = 2 (s + s³/3 + s⁵/5 + …) with s = (x - 1) / (x + 1); x is in [1, 2), so that s is below 1/3.
    s = (fraction - 1.0) / (fraction + 1.0)
    square, total = s * s, 0.0
    for term in range(_TERMS, -1, -1):
        total = total * square + 1.0 / (2 * term + 1)
    return exponent + 2.0 * s * total / math.log(2.0)


def measure_entropy(text: str) -> float:
    """Returns the entropy of the characters of ``text`` in bits per character; 0 for empty text."""
    counts = Counter(text).values()
    if len(counts) < 2:
        return 0.0
    total = 0.0
    for count, alike in sorted(Counter(counts).items()):
        total += alike * count * log2(count)
    return log2(len(text)) - total / len(text)
