"""Django's task API, from Django 6 or from the ``django-tasks`` backport for Django 5.2: the same, by other names."""

from typing import TYPE_CHECKING, Any

import django

if TYPE_CHECKING or django.VERSION >= (6, 0):
    from django.tasks import DEFAULT_TASK_BACKEND_ALIAS, task_backends
    from django.tasks.backends.base import BaseTaskBackend
    from django.tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django.tasks.exceptions import InvalidTask, TaskResultDoesNotExist
    from django.tasks.signals import task_enqueued, task_finished, task_started
    from django.utils.json import normalize_json
else:
    from django_tasks import DEFAULT_TASK_BACKEND_ALIAS, task_backends
    from django_tasks.backends.base import BaseTaskBackend
    from django_tasks.base import Task, TaskContext, TaskError, TaskResult, TaskResultStatus
    from django_tasks.exceptions import TaskResultDoesNotExist
    from django_tasks.signals import task_enqueued, task_finished, task_started
    from django_tasks.utils import normalize_json

    try:
        from django_tasks.exceptions import InvalidTask
    except ImportError:  # its name up to 0.12
        from django_tasks.exceptions import InvalidTaskError as InvalidTask

# Generic to type checkers alone.
if TYPE_CHECKING:
    AnyTask = Task[..., Any]
    AnyTaskContext = TaskContext[..., Any]
    AnyTaskResult = TaskResult[..., Any]
else:
    AnyTask, AnyTaskContext, AnyTaskResult = Task, TaskContext, TaskResult

__all__ = [
    "DEFAULT_TASK_BACKEND_ALIAS",
    "AnyTask",
    "AnyTaskContext",
    "AnyTaskResult",
    "BaseTaskBackend",
    "InvalidTask",
    "Task",
    "TaskError",
    "TaskResult",
    "TaskResultDoesNotExist",
    "TaskResultStatus",
    "normalize_json",
    "task_backends",
    "task_enqueued",
    "task_finished",
    "task_started",
]
