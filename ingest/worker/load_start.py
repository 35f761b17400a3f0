"""The beginning of a load, ahead of its own modules: its workers, and a connection to the store."""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

from watchfloor.schema.settings.settings import Settings

from .pool import WorkerPool

if TYPE_CHECKING:
    from watchfloor.store.store import Store


class LoadStart:
    """The workers of a load, and the store, which a thread of its own opens. A context manager that ends both."""

    def __init__(self, settings: Settings, workers: int) -> None:
        self.log_file: Path = settings.home / "log" / "load.log"
        self.pool = WorkerPool(settings, workers, self.log_file)
        self._settings = settings
        self._thread = ThreadPoolExecutor(1, "store")
        self._opening: Future[Store] | None = None

    def begin(self) -> None:
        """Starts workers that do not run, and begins to open the store. Raises nothing that concerns the store."""
        self.pool.restart_dead()
        if self._opening is None:
            # Imported here, after the workers' start, and by this thread, so that no two threads import the same.
            from watchfloor.store.store import Store

            self._opening = self._thread.submit(Store.open, self._settings)

    def await_store(self) -> Store:
        """Returns the store when it is open. Raises ``StoreError`` if it does not open."""
        self.begin()
        assert self._opening is not None
        return self._opening.result()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.pool.stop()
        self._thread.shutdown()
        if self._opening is not None and self._opening.exception() is None:
            self._opening.result().close()
        self._opening = None
