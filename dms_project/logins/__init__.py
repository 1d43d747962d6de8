"""Logging in and out of the pages, and the limit on guessing passwords that holds for every login."""
