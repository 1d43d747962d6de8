"""``make bench-tenants``: what one fleet of workers costs, and how fair it is, with many tenants."""
