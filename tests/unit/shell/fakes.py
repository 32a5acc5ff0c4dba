"""A session that answers statements from a dictionary."""

from __future__ import annotations

import io
from types import SimpleNamespace
from typing import Any

from paimon_sql.shell.runner import Options, Shell


def kind(name: str, **inner: Any) -> Any:
    return SimpleNamespace(typeName=lambda: name, **inner)


class FakeFrame:
    def __init__(self, columns: dict[str, str], *rows: tuple[Any, ...]):
        self.columns, self.rows = list(columns), list(rows)
        self.schema = SimpleNamespace(fields=[SimpleNamespace(dataType=kind(name)) for name in columns.values()])
        self.limits: list[int] = []

    def limit(self, count: int) -> FakeFrame:
        self.limits.append(count)
        limited = FakeFrame({}, *self.rows[:count])
        limited.columns, limited.schema = self.columns, self.schema
        return limited

    def collect(self) -> list[tuple[Any, ...]]:
        return self.rows


class FakeTracker:
    """Spark's status tracker, with the second stage of a job of three active."""

    def __init__(self) -> None:
        self.stages = {5: SimpleNamespace(numTasks=4, numCompletedTasks=1)}

    def getActiveStageIds(self) -> list[int]:
        return list(self.stages)

    def getStageInfo(self, number: int) -> SimpleNamespace | None:
        return self.stages.get(number)

    def getActiveJobsIds(self) -> list[int]:
        return [1, 2]

    def getJobInfo(self, number: int) -> SimpleNamespace | None:
        return SimpleNamespace(stageIds=[6, 4, 5]) if number == 2 else None


class FakeConf(dict[str, str]):
    set = dict.__setitem__


class FakeSession:
    """Runs what it has an answer for: a frame, or an error to raise; everything else has no result."""

    def __init__(self, answers: dict[str, FakeFrame | BaseException] | None = None):
        self.answers, self.ran, self.is_stopped, self.log_levels = answers or {}, [], False, []
        self.conf = FakeConf({"spark.sql.session.timeZone": "UTC"})
        self.sparkContext = SimpleNamespace(setLogLevel=self.log_levels.append, cancelAllJobs=lambda: None)
        self.sparkContext.statusTracker = lambda: SimpleNamespace(getActiveStageIds=list)

    def sql(self, text: str) -> FakeFrame:
        self.ran.append(text)
        answer = self.answers.get(text, FakeFrame({}))
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def stop(self) -> None:
        self.is_stopped = True


def shell_on(session: FakeSession, **options: Any) -> Shell:
    return Shell(session, io.StringIO(), io.StringIO(), Options(**options))


class Output(io.StringIO):
    """A stream that is a terminal, or none."""

    def __init__(self, is_terminal: bool):
        super().__init__()
        self.is_terminal = is_terminal

    def isatty(self) -> bool:
        return self.is_terminal
