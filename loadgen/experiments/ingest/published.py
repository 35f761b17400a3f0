"""The published ingest rate of the LLCySA paper, which is shown beside what is measured here.

Scott M. Sawyer and B. David O'Gwynn, "Evaluating Accumulo Performance for a Scalable Cyber Data Processing Pipeline",
IEEE HPEC 2014 (arXiv 1407.5661). Its text gives one number, the rate of each client until saturation; the rates by
clients and tablet servers, the saturation points and the variance (figures 3 and 4) are in pictures only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

PUBLISHED = Path(__file__).with_name("published.json")


@dataclass(frozen=True)
class PublishedRate:
    """The published megabytes per second of each ingest client until saturation.

    ``source`` names the publication and the place in it.
    """

    source: str
    megabytes_per_client: float


def read_published() -> PublishedRate:
    """Reads the published rate from ``published.json``."""
    written = json.loads(PUBLISHED.read_text("utf-8"))
    return PublishedRate(written["source"], float(written["mb_per_second_per_client"]))
