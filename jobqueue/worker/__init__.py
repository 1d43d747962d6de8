"""One worker process: the loops and threads that claim jobs, run them and record how they end."""
