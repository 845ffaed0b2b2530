"""What can run jobs: processes of this machine, or a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from concurrent.futures import Future
from typing import Protocol

from autograder.batch.settings import Settings


class Engine(Protocol):
    """Whatever runs jobs."""

    def at_once(self) -> int:
        """How many jobs it wants to have at a time; asked again every few seconds.

        Raises:
            EngineError: nobody has been there to run one for too long.
        """

    def submit(self, job: bytes, seconds: float) -> Future[bytes]:
        """Run a `Job` within so many seconds and give its `Report`, both as `to_json` writes them.

        A job over which processes die is *poisoned*: its result says so, and a person must look.
        The future raises `EngineError` where no job can be run, and `SandboxError` where a machine
        cannot isolate as was asked.
        """

    def close(self) -> None:
        """End all that was started; futures that wait for it come back."""


@contextlib.contextmanager
def engine_for(settings: Settings, modules: Sequence[str]) -> Iterator[Engine]:
    """The engine that settings ask for, already starting; it is closed in the end.

    Raises:
        EngineError: it is unavailable.
    """
    engine: Engine
    if settings.scheduler:
        from autograder.batch.dask import Dask

        engine = Dask(settings.scheduler)
    else:
        from autograder.batch.pool import Pool

        engine = Pool(settings.workers, settings.isolation, modules)
    with contextlib.closing(engine):
        yield engine
