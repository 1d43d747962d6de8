"""What people want to know of a queue at work: why a job waits, what was, what the workers do. Only reads."""
