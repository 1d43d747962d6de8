"""What the queue raises. Catch ``JobQueueError`` for any of it."""


class JobQueueError(Exception):
    """Root of the queue's errors. Not raised itself."""


class InvalidJob(JobQueueError, ValueError):
    """The job can't be stored as asked. Raised before any SQL runs, so the caller's transaction stays usable."""


class NoJobAvailable(JobQueueError):
    """Nothing is due for this caller now."""


class JobNotFound(JobQueueError):
    """No job has this id in the active schema."""


class NotDeadLettered(JobQueueError):
    """Only a dead letter can be requeued or discarded; the job is in another status. Nothing was changed."""


class LockLost(JobQueueError):
    """The claim is over: another worker has the job by now, or it was cancelled. Nothing was changed."""


class DeadLetter(JobQueueError):
    """Raised by a handler to say that a retry is useless: the job goes to the dead letters at once."""
