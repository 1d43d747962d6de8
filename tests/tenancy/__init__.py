"""Tests of the tenancy layer, all of them on PostgreSQL."""
