"""What only the operators' host shows: all tenants at a glance."""
