"""What the queue raises. Catch ``JobQueueError`` for any of it."""


class JobQueueError(Exception):
    """Root of the queue's errors. Not raised itself."""


class InvalidJob(JobQueueError, ValueError):
    """The job can't be stored as asked. Raised before any SQL runs, so the caller's transaction stays usable."""


class KeyTaken(JobQueueError):
    """A job has this idempotency key, and ``if_known="raise"`` asked to be told so. Nothing was changed."""


class NoJobAvailable(JobQueueError):
    """Nothing is due for this caller now."""


class JobNotFound(JobQueueError):
    """No job has this id in the active schema."""


class FlowNotFound(JobQueueError):
    """There is no flow with this id."""


class NotDeadLettered(JobQueueError):
    """Only a dead letter can be requeued or discarded; the job is in another status. Nothing was changed."""


class LockLost(JobQueueError):
    """The claim is over: another worker has the job by now, or it was cancelled. Nothing was changed."""


class DeadLetter(JobQueueError):
    """Raised by a handler to say that a retry is useless: the job goes to the dead letters at once."""


class UnstorableResult(DeadLetter, TypeError):
    """A task has done its work and returned what no JSON can say: doing it again is useless."""


class WorkerDied(JobQueueError):
    """An attempt ended with the process that it ran in. Not raised: stands in a ``TaskResult``'s errors."""


class Interruption(BaseException):
    """Root of what is raised inside a running handler from outside. Not raised itself.

    No ``Exception``, so that a handler which catches those, item by item perhaps, doesn't swallow it.
    """


class SoftTimeLimit(Interruption):
    """The job has used up its ``soft_timeout``: clean up and end. Returning normally counts as success."""

    def __init__(self, message: str = "the job's soft time limit has passed") -> None:
        super().__init__(message)


class Cancelled(Interruption):
    """The job was cancelled, or is another worker's by now: nothing the handler does is recorded any more."""

    def __init__(self, message: str = "the job was cancelled, or given to another worker") -> None:
        super().__init__(message)


class TimedOut(Interruption):
    """The job has used up its ``timeout``: its attempt has failed, and what is left of the handler is to end."""

    def __init__(self, message: str = "the job's time limit has passed") -> None:
        super().__init__(message)
