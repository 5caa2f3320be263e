"""Host speed, row by row, beside torch in the same run: `bench_speed.py [--rows a,b] [--json]`.

One thread on each side but in the row "scaling". Times are the minimum of repetitions that take
turns, in processor time of the process, to which other programs on the machine add little.
tools/write_performance_docs.py writes the page of what --json prints.
"""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "models"))  # resnet

from speed.command import main

if __name__ == "__main__":
    sys.exit(main())
