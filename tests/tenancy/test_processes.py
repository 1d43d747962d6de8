"""Several processes that share out names."""

import signal
import subprocess
import sys

import pytest

from scripts.leash import leashed

# In a program of its own: this one may have threads, of which a copy would have none.
PROGRAM = """
import os, signal, sys
from collections import deque
from django.conf import settings
settings.configure(DATABASES={})
from dms_project.tenancy.processes import Processes
"""


def program(text):
    return [sys.executable, "-c", PROGRAM + text]


def printed(text):
    return subprocess.run(program(text), capture_output=True, text=True, timeout=60, check=True).stdout


def test_names_are_shared_out_and_one_that_kills_its_process_costs_no_other():
    text = """
def work(name):
    if name == "poison":
        os.kill(os.getpid(), signal.SIGKILL)
    return name.upper()
print(sorted(Processes(2, work).run(deque(["a", "poison", "b", "c", "d"])), key=str))
"""
    assert printed(text) == "[('a', 'A'), ('b', 'B'), ('c', 'C'), ('d', 'D'), ('poison', None)]\n"


def test_when_the_list_is_emptied_what_has_begun_is_finished_and_nothing_else_begun():
    text = """
names = deque(str(number) for number in range(100))
done = []
for name, _ in Processes(2, str).run(names):
    done.append(name)
    names.clear()
print(sorted(done))
"""
    assert printed(text) == "['0', '1']\n"


@pytest.mark.long
def test_when_the_parent_is_killed_its_copies_end_after_what_they_are_at():
    text = """
gate = os.dup(0)
def work(name):
    print(name, flush=True)
    os.read(gate, 1)
list(Processes(2, work).run(deque("abcd")))
"""
    parent = subprocess.Popen(leashed(program(text)), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert {parent.stdout.readline(), parent.stdout.readline()} == {"a\n", "b\n"}
    parent.send_signal(signal.SIGKILL)
    parent.wait(timeout=10)
    parent.stdin.close()
    assert parent.stdout.read() == ""  # at its end, so both have ended, and begun nothing else
