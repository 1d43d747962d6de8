"""The pages for people: server-rendered, with htmx where a page changes without being loaded anew.

They call the same functions as the HTTP API, and work without JavaScript but for uploads and live states.
"""
