"""Executors that need no Spark."""

from __future__ import annotations

from paimon_core.jobs import Job, ResultT, TaskT
from paimon_core.spec.message import CommitMessage, WriteResult, written_messages


class TextExecutor:
    """Runs jobs in this process, with tasks and results as the texts that Spark would send."""

    def run(self, job: Job[TaskT, ResultT]) -> list[ResultT]:
        function = job.text_function
        return job.gathered(job.result.decode(function(text)) for text in job.texts)


def run_job(job: Job[TaskT, WriteResult]) -> list[CommitMessage]:
    """The messages of a job's tasks."""
    return written_messages(TextExecutor().run(job))
