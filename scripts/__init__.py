"""Development tooling: what the Makefile calls. Nothing in here is imported by the product."""
