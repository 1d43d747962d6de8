"""A job queue that lives in PostgreSQL: jobs are rows of ``ProcessingJob``.

Public: ``jobqueue.queue``, ``jobqueue.handlers``, ``jobqueue.backend``, ``jobqueue.backoff``, ``jobqueue.exceptions``,
``jobqueue.signals``, ``jobqueue.testing`` and ``jobqueue.models``. Everything else may change without notice.
"""
