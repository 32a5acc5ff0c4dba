"""The progress of queries that this package runs in Spark, such as sorts: the tasks of their stages."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from paimon_core.progress import Phase, PhaseProgress, opened
from paimon_sql.spark.jvm.gateway import Jvm
from paimon_sql.spark.jvm.workers import jobs_with_tag

_UNIT = "tasks"


class StagePhase(Phase):
    """The progress of the jobs with a tag as a phase: the tasks of the newest job's running stages."""

    def __init__(self, jvm: Jvm, description: str, tag: str) -> None:
        super().__init__(description, _UNIT)
        self._bridge, self._tag, self._first_seen = jvm, tag, dict[int, float]()
        self._last = PhaseProgress(description, 0, 0, _UNIT, 0.0)

    @property
    def progress(self) -> PhaseProgress:
        """The state now; the last one if no stage runs, or if Spark does not answer."""
        with suppress(Exception):
            self._look()
        return self._last

    def _look(self) -> None:
        tracker = self._bridge.context.statusTracker()
        active = set(tracker.getActiveStageIds())
        for job in sorted(jobs_with_tag(self._bridge, self._tag), reverse=True):
            info = tracker.getJobInfo(job)
            stages = [] if info is None else sorted(info.stageIds)
            running = [s for s in stages if s in active]
            found = [i for s in running if (i := tracker.getStageInfo(s)) is not None]
            if found:
                self._last = self._of(stages.index(running[0]) + 1, len(stages), running, found)
                return

    def _of(self, place: int, count: int, running: list[int], found: list[Any]) -> PhaseProgress:
        now = self.clock()
        began = min(self._first_seen.setdefault(stage, now) for stage in running)
        done, tasks = sum(s.numCompletedTasks for s in found), sum(s.numTasks for s in found)
        return PhaseProgress(f"{self.description}, stage {place} of {count}", done, tasks, _UNIT, now - began)


@contextmanager
def spark_phase(jvm: Jvm, description: str) -> Iterator[None]:
    """Name Spark's jobs of the block in its UI, and show their progress."""
    context, tag = jvm.context, f"paimon-{uuid.uuid4()}"
    context.setJobDescription(description)
    context.addJobTag(tag)
    try:
        with opened(StagePhase(jvm, description, tag)):
            yield
    finally:
        context.removeJobTag(tag)
        context.setJobDescription(None)
