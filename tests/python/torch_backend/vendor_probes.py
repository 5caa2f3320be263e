"""Runs the probes of the differences in the JSON on stdin, in one process; prints their results as
JSON, errors as "Kind: text". Run by test_vendor.py."""

import json
import sys

import torch
import torch.distributed as dist
from neuron_sim.settings import device_name, semantics


def outcome(probe: str) -> str:
    module = getattr(torch, device_name())
    module.reset_fallback_counts()
    scope = {"torch": torch, "dist": dist, "device": device_name(), "module": module}
    scope["semantics"] = semantics()
    try:
        exec(probe, scope)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return repr(scope["result"])


print(json.dumps([outcome(probe) for probe in json.load(sys.stdin)]))
