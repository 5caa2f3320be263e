"""Runs at the start of every Python process under `neuron-sim run`; then the one that it hides.

Not a module of the package: its folder is on PYTHONPATH. An interpreter that cannot import
neuron_sim (another version of Python) continues without it.
"""

import importlib.machinery
import importlib.util
import os
import sys


def _install():
    folder = os.environ.get("NEURON_SIM_PACKAGE")
    if folder and importlib.util.find_spec("neuron_sim") is None:
        sys.path.append(folder)
    try:
        from neuron_sim.run import process  # may fail: then Python starts without it
    except ImportError:
        return
    process.install()


def _run_hidden():
    """The next `sitecustomize` on the path, which this one hides."""
    own = os.path.dirname(os.path.abspath(__file__))
    others = [folder for folder in sys.path if os.path.abspath(folder) != own]
    spec = importlib.machinery.PathFinder.find_spec("sitecustomize", others)
    if spec is None or spec.loader is None:
        return
    module = importlib.util.module_from_spec(spec)
    sys.modules["sitecustomize"] = module
    spec.loader.exec_module(module)


_install()
_run_hidden()
