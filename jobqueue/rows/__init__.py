"""What is done to the rows of jobs: the statements, and what each changes."""
