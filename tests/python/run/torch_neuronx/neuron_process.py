"""Processes whose device is `neuron`."""

import os
import subprocess
import sys
from pathlib import Path


def run(script, tmp_path, command=(), **variables):
    """What the script prints, a line each."""
    path = Path(tmp_path) / "script.py"
    path.write_text(script)
    environment = {**os.environ, "NEURON_SIM_DEVICE": "neuron", **variables}
    result = subprocess.run(
        [sys.executable, *command, str(path)],
        env=environment,
        capture_output=True,
        text=True,
        cwd=tmp_path,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout.splitlines()
