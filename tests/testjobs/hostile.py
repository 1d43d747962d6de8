"""What a handler could leave to the next job, and what the next one finds."""

import asyncio
import threading
import time
from collections.abc import Callable
from typing import Any

from asgiref.sync import sync_to_async
from django.conf import settings
from django.contrib.auth.models import Group
from django.contrib.contenttypes.models import ContentType
from django.core.cache import cache
from django.db import connection
from django.utils import timezone, translation

from dms_project.logs import request_id
from dms_project.tenancy import current, use
from jobqueue.running_job import running_job

_GO_ON_SECONDS = 0.3
# What the code of a handler may keep for itself, and so keeps between two tenants.
_kept: dict[str, Any] = {}


def _other() -> str:
    return "globex" if current() == "acme" else "acme"


def _groups() -> list[str]:
    return list(Group.objects.values_list("name", flat=True))


def _go_on() -> None:
    with use(_other()):
        until = time.monotonic() + _GO_ON_SECONDS
        while time.monotonic() < until:
            _groups()
    connection.close()


def _start_a_thread() -> None:
    threading.Thread(target=_go_on, daemon=True).start()


def _start_an_async_task() -> None:
    async def go_on() -> None:
        with use(_other()):
            until = time.monotonic() + _GO_ON_SECONDS
            while time.monotonic() < until:
                await sync_to_async(_groups)()

    try:
        _kept["task"] = asyncio.get_running_loop().create_task(go_on())
    except RuntimeError:
        return  # this handler isn't on a loop


def _set_the_path() -> None:
    with connection.cursor() as cursor:
        cursor.execute(f"SET search_path TO {current()}, pg_catalog")


def _activate() -> None:
    translation.activate("de")
    timezone.activate("Asia/Kathmandu")


LEAVE: dict[str, Callable[[], Any]] = {
    "a block of the tenant": lambda: use(current()).__enter__(),
    "a block of the other tenant": lambda: use(_other()).__enter__(),
    "a search_path": _set_the_path,
    "language and time zone": _activate,
    "a cache entry": lambda: cache.set("left", current()),
    "a content type in its cache": lambda: ContentType.objects.get_for_model(Group),
    "what the log says": lambda: request_id.set(f"left by {current()}"),
    "a query that nobody has asked yet": lambda: _kept.update(query=Group.objects.order_by("name")),
    "another job as the running one": lambda: running_job.set(None),
    "a thread in the other tenant": _start_a_thread,
    "an async task in the other tenant": _start_an_async_task,
}


def look() -> dict[str, Any]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_schema(), current_setting('search_path')")
        schema, path = cursor.fetchone()
    model = {"app_label": Group._meta.app_label, "model": Group._meta.model_name}
    job = running_job.get()
    return {
        "tenant": current(),
        "schema": schema,
        "search_path": path,
        "groups": _groups(),
        "kept_query": [group.name for group in _kept["query"].all()] if "query" in _kept else [current()],
        "content_type": ContentType.objects.get_for_model(Group).pk == ContentType.objects.filter(**model).get().pk,
        "cached": cache.get("left"),
        "language": translation.get_language() == settings.LANGUAGE_CODE,
        "time_zone": timezone.get_current_timezone_name() == settings.TIME_ZONE,
        "in_log": request_id.get(),
        "job": job is not None and job.job_type.split(".")[1],
    }
