"""``make soak``: random faults against working workers for as long as you like; at the end, a verdict."""
