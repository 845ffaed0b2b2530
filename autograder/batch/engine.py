"""What can run jobs: processes of this machine, or a cluster."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence

from autograder.batch.settings import Settings
from autograder.batch.task import Engine


@contextlib.contextmanager
def engine_for(settings: Settings, modules: Sequence[str]) -> Iterator[Engine]:
    """The engine that settings ask for, already starting; it is closed in the end.

    Args:
        settings: of the class.
        modules: of the course, those that submissions may import.

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
