"""One fleet of workers for thousands of tenants, each with a schema of its own. The core knows nothing of it."""
