"""The type of results that the command line and the REST service share for queries and watches."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import pyarrow as pa


class StreamedResult(Protocol):
    """A result of the query service's ``run`` or ``watch``: events in batches as they are found, and a summary.

    ``close`` may be called from another thread and ends the iteration.
    """

    @property
    def schema(self) -> pa.Schema:
        """The schema of the batches; without columns if it is not known yet."""

    @property
    def summary(self) -> dict[str, Any]: ...

    def __iter__(self) -> Iterator[pa.RecordBatch]: ...

    def close(self) -> None: ...
