"""``make bench``: how fast the queue is, beside the least SQL that could do its work and beside other queues.

``docs/benchmarks.md`` says what is measured and what the ratios mean. Each file can be read alone: ``parts/`` holds one
kind of measurement each, with its goals; ``ours``, ``floor`` and ``peers/`` say how each contender is driven.
"""
