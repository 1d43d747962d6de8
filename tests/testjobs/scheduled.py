"""A schedule of each second, for worker processes."""

from datetime import timedelta

from jobqueue.queue import JobSpec
from jobqueue.schedules import every, schedule

schedule("test.each_second", every(timedelta(seconds=1)), JobSpec("test.ok", {}))
