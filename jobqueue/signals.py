"""Signals that a project may listen to."""

from django.dispatch import Signal

worker_started = Signal()
"""Sent in the worker's process when it begins to serve, with ``service``: what it serves."""
