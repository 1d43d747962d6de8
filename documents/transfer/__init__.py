"""A tenant's documents as a folder of files and JSON, and back."""
