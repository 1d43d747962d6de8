"""Scenarios in which PostgreSQL itself goes away, refuses or lies: on a server of their own."""
