#!/usr/bin/env python
"""Django's command line for this project."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "dms_project.settings")
    from django.core.management import execute_from_command_line

    from dms_project.env import one_line_errors

    with one_line_errors():
        execute_from_command_line(sys.argv)
        sys.stdout.flush()


if __name__ == "__main__":
    main()
