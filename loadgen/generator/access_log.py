"""Writes web access logs (combined format) of any size, oldest line first: the same bytes for the same arguments."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

BLOCK_LINES = 50_000
"""The number of lines drawn at a time; another number would draw other lines."""
_START = int(datetime(2026, 1, 1, tzinfo=UTC).timestamp())
_CLIENTS, _PATHS, _AGENTS, _SIZES = 3_000, 20_000, 120, 4_096
_LINES_PER_SECOND = 20


def write_access_log(path: Path, size: int, seed: int = 1) -> int:
    """Writes at least ``size`` bytes of whole lines, 20 per second of log time; returns the number of lines."""
    words = _LineParts()
    lines = written = 0
    with path.open("wb") as out:
        while written < size:
            text = words.render_block(seed, lines // BLOCK_LINES)
            view = memoryview(text)
            if written + len(text) > size:
                cut = text.find(b"\n", size - written - 1) + 1
                lines += text.count(b"\n", 0, cut)
                written += out.write(view[:cut])
            else:
                lines += BLOCK_LINES
                written += out.write(view)
    return lines


class _LineParts:
    """The parts from which lines are joined. Addresses lie in 10.0.0.0/8, names in ``.example``."""

    def __init__(self) -> None:
        rng = np.random.Generator(np.random.PCG64(0))
        pick = rng.integers
        self.clients = pa.array([f"10.{a}.{b}.{c} - - [" for a, b, c in pick(1, 255, (_CLIENTS, 3))])
        methods = ("GET", "GET", "GET", "GET", "GET", "GET", "HEAD", "POST")
        kinds = ("html", "css", "js", "png", "jpg", "svg", "json", "woff2")
        self.requests = pa.array(
            [
                f'"{methods[i % 8]} /{"abcdefgh"[i % 8]}{i % 97}/page-{i}.{kinds[i % 7]} HTTP/1.1" '
                for i in range(_PATHS)
            ]
        )
        statuses = [200] * 24 + [304] * 3 + [301, 302, 404, 404, 500]
        sizes = np.exp(rng.standard_normal(_SIZES) * 1.4 + 8.5).astype(int)
        self.answers = pa.array([f"{statuses[i % 32]} {size} " for i, size in enumerate(sizes)])
        self.agents = pa.array(
            [
                f'"{"-" if i % 3 else f"https://shop.example/r/{i}"}" "Mozilla/5.0 (X11; Linux x86_64; rv:{80 + i}.0) '
                f'Gecko/20100101 Firefox/{80 + i}.0"\n'
                for i in range(_AGENTS)
            ]
        )

    def render_block(self, seed: int, number: int) -> bytes:
        """Returns the lines of block ``number``."""
        rng = np.random.Generator(np.random.PCG64([seed, number]))
        first = number * BLOCK_LINES
        seconds = _START + (first + np.arange(BLOCK_LINES)) // _LINES_PER_SECOND
        times = pc.strftime(pa.array(seconds, pa.timestamp("s")), format="%d/%b/%Y:%H:%M:%S +0000] ")
        # The skew makes some of each kind common and most of them rare.
        joined = pc.binary_join_element_wise(
            self.clients.take(_draw_skewed(rng, _CLIENTS)),
            times,
            self.requests.take(_draw_skewed(rng, _PATHS)),
            self.answers.take(pa.array(rng.integers(0, _SIZES, BLOCK_LINES))),
            self.agents.take(_draw_skewed(rng, _AGENTS)),
            "",
        )
        return bytes(memoryview(joined.buffers()[2])[: pc.sum(pc.binary_length(joined)).as_py()])


def _draw_skewed(rng: np.random.Generator, count: int) -> pa.Array:
    return pa.array((rng.random(BLOCK_LINES) ** 3 * count).astype(np.int32))
