"""Other queues on PostgreSQL that a Python project would choose, each at its stock and at its best setting.

Best was found by trying a few settings of each at working off many no-op jobs. Each runs in the environment that
``make bench-peers`` makes.
"""
