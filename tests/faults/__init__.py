"""What breaks beneath the queue: connections, servers, processes, clocks, disks; each scenario ends with a verdict."""
