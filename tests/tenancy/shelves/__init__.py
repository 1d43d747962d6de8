"""An app of tenants alone, whose migrations can fail: for tests of migrating a fleet."""
