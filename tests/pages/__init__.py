"""The pages, in a real browser, served by the real web server, with a real worker."""
