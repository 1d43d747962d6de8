"""The program that forks the tests' programs (tests/programs.py): ``manage.py`` with the libraries loaded already.

It has one thread, and none of the libraries reads the environment, so what it forks is what a start would have made. A
guardian beside each program waits for its end and tells its status. Whoever is gone, tests or guardian, takes the
program with it, as `scripts.leash` does.
"""

import ctypes
import gc
import json
import os
import runpy
import signal
import socket
import struct
import sys
from contextlib import suppress
from importlib import import_module

from scripts.leash import PR_SET_PDEATHSIG

# None of the project's own: its settings, and with them most of its modules, depend on the environment.
LIBRARIES = (
    "charset_normalizer",
    "django.contrib.admin.options",
    "django.contrib.admin.views.main",
    "django.contrib.auth.hashers",
    "django.contrib.auth.management",
    "django.contrib.auth.password_validation",
    "django.contrib.auth.tokens",
    "django.contrib.contenttypes.management",
    "django.contrib.messages.storage.base",
    "django.contrib.postgres.apps",
    "django.contrib.postgres.fields",
    "django.contrib.postgres.operations",
    "django.contrib.postgres.search",
    "django.contrib.sessions.backends.db",
    "django.contrib.staticfiles.finders",
    "django.core.cache.backends.locmem",
    "django.core.files.uploadhandler",
    "django.core.management.commands.check",
    "django.core.management.commands.migrate",
    "django.core.management.commands.showmigrations",
    "django.db.backends.postgresql.base",
    "django.db.models.sql.compiler",
    "django.forms",
    "django.http",
    "django.template.loader",
    "django.views.debug",
    "django.views.generic",
    "django.views.i18n",
    "dj_database_url",
    "importlib.metadata",
    "psycopg.types.hstore",
    "puremagic",
    "pythonjsonlogger.json",
    "sqlparse",
    "unittest.mock",
)
FACT = struct.Struct("i")  # what a guardian tells: first the program's process id, then how it ended
LARGEST_REQUEST_BYTES = 2**17


def _die_with_the_parent(number: signal.Signals, parent: int) -> None:
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, int(number))
    if os.getppid() != parent:  # it died before the request
        os._exit(1)


def _guard(told: int, program: int) -> None:
    """Tell of the program's start and end."""
    with suppress(OSError):  # it has done so itself, and may even have ended
        os.setpgid(program, program)
    os.write(told, FACT.pack(program))
    status = os.waitstatus_to_exitcode(os.waitpid(program, 0)[1])
    with suppress(BrokenPipeError):  # nobody wants to know any more
        os.write(told, FACT.pack(status))
    os._exit(0)


def _reap(*_: object) -> None:
    """Take note of guardians that are done, so that what their programs cost counts as the tests'."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass


def serve(requests: socket.socket) -> list[str] | None:
    """Fork what is asked for; return in each program with its command line, and in the server when nobody asks more."""
    server = os.getpid()
    signal.signal(signal.SIGCHLD, _reap)
    while True:
        request, descriptors, _, _ = socket.recv_fds(requests, LARGEST_REQUEST_BYTES, 3)
        if not request:
            return None
        if os.fork() == 0:
            break
        for descriptor in descriptors:
            os.close(descriptor)
    requests.close()
    output, errors, told = descriptors
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)
    _die_with_the_parent(signal.SIGKILL, server)
    guardian = os.getpid()
    if program := os.fork():
        os.close(output)
        os.close(errors)
        _guard(told, program)
    os.setpgid(0, 0)  # so that a test can signal the whole group
    _die_with_the_parent(signal.SIGTERM, guardian)
    os.dup2(output, 1)
    os.dup2(errors, 2)
    for descriptor in descriptors:
        os.close(descriptor)
    command, environment = json.loads(request)
    os.environ.clear()
    os.environ.update(environment)
    return command


if __name__ == "__main__":
    for library in LIBRARIES:
        import_module(library)
    gc.collect()
    gc.freeze()  # so that the garbage collector of a program doesn't copy every page
    if command := serve(socket.socket(fileno=int(sys.argv[1]))):
        sys.argv, sys.orig_argv = command, [sys.executable, *command]
        # The last thing here, so that Python ends as it always does: threads, exit handlers, status.
        runpy.run_path("manage.py", run_name="__main__")
