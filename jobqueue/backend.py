"""The queue as a backend of Django's task API: ``django.tasks``, or the ``django-tasks`` backport on Django 5.2.

Imported as soon as a module with a task is, which may be before the models are: so what needs them is imported late.
"""

from typing import Any

from django.apps import apps
from django.core.checks import CheckMessage, Error

from jobqueue import handlers, key_policy
from jobqueue.queue_task import QueueTask, declared, job_type_of
from jobqueue.task_api import (
    AnyTask,
    AnyTaskResult,
    BaseTaskBackend,
    InvalidTask,
    TaskResultDoesNotExist,
    normalize_json,
    task_enqueued,
)
from jobqueue.task_handler import TaskHandler, handler_of
from jobqueue.task_results import payload_of, result_of

_BIGGEST_ID = 2**63 - 1


class PostgresBackend(BaseTaskBackend):
    """A task is a job: it exists if and only if the transaction that enqueued it commits, and ``runworker`` does it.

    ``TASKS = {"default": {"BACKEND": "jobqueue.backend.PostgresBackend"}}``; it takes ``QUEUES``, and no ``OPTIONS``.
    """

    task_class = QueueTask
    supports_defer = True
    supports_async_task = True
    supports_get_result = True
    supports_priority = True

    def validate_task(self, task: AnyTask) -> None:
        """Let the workers know the task, unless something is wrong with it.

        Raises:
            InvalidTask: It can't be done as asked.
        """
        super().validate_task(task)
        original = declared(task)
        if not isinstance(original.get_backend(), PostgresBackend):
            raise InvalidTask(
                f"{task.module_path} is declared for the backend {original.backend!r}, so no worker would know it: "
                f"declare it with @task(backend={task.backend!r})."
            )
        _check_options(task)
        known = handlers.registered().get(job_type_of(original))
        if isinstance(known, TaskHandler) and known.task is original:
            return
        try:
            handlers.register(handler_of(original, type(self)))
        except ValueError as error:
            raise InvalidTask(str(error)) from None

    def enqueue(self, task: AnyTask, args: Any, kwargs: Any) -> Any:
        """Add a job for the task, or find the one that has its idempotency key, in the caller's transaction.

        Returns:
            The ``TaskResult``; its id is the job's.

        Raises:
            InvalidTask: It can't be done as asked.
            TypeError: An argument is no JSON.
            InvalidJob: An argument can't be stored; like the others, before any SQL runs.
            KeyTaken: The idempotency key is known, and the task asked to be told so.
        """
        from jobqueue.queue import Queue

        self.validate_task(task)
        original = declared(task)
        job = Queue().enqueue(
            job_type_of(original),
            payload_of(task, original, normalize_json(args), normalize_json(kwargs)),
            queue_name=task.queue_name,
            priority=task.priority,
            available_at=task.run_after,
            # A task declared while another backend was the default has none of these.
            idempotency_key=getattr(task, "idempotency_key", None),
            max_attempts=getattr(task, "max_attempts", None),
            if_known=getattr(task, "if_known", "return"),
            key_while_active=getattr(task, "key_while_active", False),
            concurrency_key=getattr(task, "concurrency_key", None),
            concurrency_limit=getattr(task, "concurrency_limit", 1),
        )
        result = result_of(job, original)
        if job.created:
            task_enqueued.send(type(self), task_result=result)
        return result

    def get_result(self, result_id: str) -> AnyTaskResult:
        """Return what is known of a task of the active tenant; anybody can guess ids, so ask who may see it.

        Raises:
            TaskResultDoesNotExist: There is no such job, or it is no task that this process knows.
        """
        from jobqueue.models import ProcessingJob

        text = str(result_id)
        if not (text.isascii() and text.isdecimal() and int(text) <= _BIGGEST_ID):
            raise TaskResultDoesNotExist(result_id)
        job = ProcessingJob.objects.filter(pk=int(text)).first()
        if job is None:
            raise TaskResultDoesNotExist(result_id)
        handler = handlers.registered().get(job.job_type)
        if not isinstance(handler, TaskHandler):
            raise TaskResultDoesNotExist(f"Job {job.pk} is of type {job.job_type!r}, which is no task here.")
        return result_of(job, handler.task)

    def check(self, **kwargs: Any) -> list[CheckMessage]:
        """jobqueue.E003 to E005: what would keep the backend from working."""
        errors: list[CheckMessage] = []
        if not apps.is_installed("jobqueue"):
            errors.append(
                Error(
                    f"TASKS[{self.alias!r}] is the queue, but its app is not installed.",
                    hint="Add 'jobqueue' to INSTALLED_APPS and run migrate.",
                    id="jobqueue.E003",
                )
            )
            return errors
        if self.options:
            errors.append(
                Error(
                    f"TASKS[{self.alias!r}] has OPTIONS {', '.join(map(str, self.options))}; the queue takes none.",
                    hint="Set JOBQUEUE in settings.py, or options of @task.",
                    id="jobqueue.E004",
                )
            )
        from jobqueue.models import NAME_MAX_LENGTH

        errors += [
            Error(
                f"The task {name} has a name of {len(name)} characters; a job type has {NAME_MAX_LENGTH} at most.",
                hint="Give it a shorter one: @task(job_type=...).",
                id="jobqueue.E005",
            )
            for name, handler in handlers.registered().items()
            if isinstance(handler, TaskHandler) and len(name) > NAME_MAX_LENGTH
        ]
        return errors


def _check_options(task: AnyTask) -> None:
    if not isinstance(task, QueueTask):
        return
    number = task.max_attempts
    if number is not None and (not isinstance(number, int) or isinstance(number, bool) or number < 1):
        raise InvalidTask(f"max_attempts is {number!r}: give an int greater than zero.")
    limit = task.concurrency_limit
    if not isinstance(limit, int) or isinstance(limit, bool) or limit < 1:
        raise InvalidTask(f"concurrency_limit is {limit!r}: give an int greater than zero.")
    try:
        task.limits  # noqa: B018 - it checks them
        key_policy.check(task.if_known, task.key_while_active)
    except ValueError as error:
        raise InvalidTask(str(error)) from None
