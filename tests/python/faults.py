"""Programs that are run apart, because what happens to them must not happen to the tests."""

import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass

from device_type import OWN_NAME

TIMEOUT = 120  # seconds: of a program that hangs


@dataclass
class Ended:
    """How a program ended: its exit status (negative: the signal), and what it printed."""

    status: int
    output: str
    errors: str

    def result(self):
        """What the program gave to `report()`."""
        assert self.status == 0, f"status {self.status}\n{self.output}\n{self.errors}"
        return json.loads(self.output.splitlines()[-1])


START = """
import json, signal, sys
# A shell may have started the tests in the background, with the signal ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
def report(value):
    print(json.dumps(value), flush=True)
"""


def run_apart(code, *, timeout=TIMEOUT, **environment):
    """Runs a program of Python, which has `report(value)`, to its end."""
    done = subprocess.run(
        [sys.executable, "-c", START + code], capture_output=True, text=True, timeout=timeout,
        env={**os.environ, **OWN_NAME, **environment},
    )  # fmt: skip
    return Ended(done.returncode, done.stdout, done.stderr)


def interrupted(arguments, after, sent=signal.SIGINT):
    """Runs a program, sends it a signal `after` seconds after its line "ready"; how it ended, and
    seconds from the signal to its end."""
    process = subprocess.Popen(
        [sys.executable, *arguments], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        while process.stdout.readline().strip() != "ready":
            assert process.poll() is None, process.stderr.read()
        time.sleep(after)
        assert process.poll() is None, "it ended before the signal: " + process.stderr.read()
        start = time.monotonic()
        process.send_signal(sent)
        output, errors = process.communicate(timeout=TIMEOUT)
        return Ended(process.returncode, output, errors), time.monotonic() - start
    finally:
        process.kill()
        process.wait()
