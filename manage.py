#!/usr/bin/env python
"""Footprint's command line: `demo`, `serve`, and Django's own commands."""

import os
import sys


def main() -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "footprint_site.settings")
    try:
        from django.core.management import execute_from_command_line
    except ImportError:
        sys.exit("Django is missing here. Install the dashboard with: pip install -e '.[server]'")
    execute_from_command_line(sys.argv)


if __name__ == "__main__":
    main()
