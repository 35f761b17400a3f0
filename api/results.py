"""The results of the query service's ``run`` and ``watch``, as the command line and the REST service see it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import pyarrow as pa


class StreamedResult(Protocol):
    """Events in batches as they are found, and a summary.

    ``close`` may be called from another thread and ends the iteration.
    """

    @property
    def summary(self) -> dict[str, Any]: ...

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def close(self) -> None: ...
