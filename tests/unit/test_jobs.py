from __future__ import annotations

from collections.abc import Callable

import pytest

from paimon_core.jobs import Job, ResultT, TaskT
from paimon_core.spec.message import BUCKET_STATE, BucketState
from tests.support.executors import TextExecutor


def _checked(bucket: BucketState) -> BucketState:
    if bucket.bucket == 2:
        raise ValueError("bucket 2")
    return bucket


def _here(job: Job[TaskT, ResultT]) -> list[ResultT]:
    return job.run_here()


@pytest.mark.parametrize("run", [_here, TextExecutor().run], ids=["here", "texts"])
def test_where_a_task_fails_those_that_ended_are_undone(
    run: Callable[[Job[BucketState, BucketState]], list[BucketState]],
) -> None:
    undone: list[int] = []
    tasks = tuple(BucketState(b"", n, 4) for n in range(4))
    job = Job("check", _checked, BUCKET_STATE, BUCKET_STATE, tasks)
    undoing = job.undone_by(lambda result: undone.append(result.bucket))
    with pytest.raises(ValueError, match="bucket 2"):
        run(undoing)
    assert undone == [0, 1]
    with pytest.raises(ValueError, match="bucket 2"):
        run(job)
    few = Job("check", _checked, BUCKET_STATE, BUCKET_STATE, tasks[:2]).undone_by(undone.append)
    assert run(few) == list(tasks[:2]) and undone == [0, 1]
