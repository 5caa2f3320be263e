"""Host speed beside other simulators: `run_peers.py PYTHON > report.json`, see peers/__init__.py.

`make bench-peers` makes the environment of PYTHON, runs this, and writes the table of
docs/performance.md.
"""

from __future__ import annotations

import sys

from peers.command import main

if __name__ == "__main__":
    sys.exit(main())
