"""The plain Django project, without tenants, in which our queue is measured."""
