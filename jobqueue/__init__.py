"""A job queue that lives in PostgreSQL: jobs are rows of ``ProcessingJob``.

Public: ``jobqueue.queue``, ``jobqueue.handlers``, ``jobqueue.exceptions``, ``jobqueue.signals`` and
``jobqueue.models``. Everything else may change without notice.
"""
