"""API tokens: an app whose table lies in every schema, so a tenant's tokens are worthless elsewhere."""
