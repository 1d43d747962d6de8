"""Tests of ``jobqueue``: its API, its guarantees, and real worker processes that are killed, paused and stopped."""
