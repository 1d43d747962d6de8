"""A Django project without tenants: the queue must work in it with two settings."""
