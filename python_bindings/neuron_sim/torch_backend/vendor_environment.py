"""The environment variables of TorchNeuron (the vendor's page torch/reference/env-vars) under the
device name `neuron`: what they do here.

A variable that changes nothing here is named in one warning at the first use of the device.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, MutableMapping

from neuron_sim import settings

ACTING = {
    "NEURON_LAUNCH_BLOCKING": "`1`: the program waits, in simulated time, for every kernel",
    "NEURON_RT_NUM_CORES": "the number of devices (at most 16), unless NEURON_SIM_DEVICES says it",
    "NEURON_RT_VISIBLE_CORES": "`0`, `0-3` or `0,2`: as many devices; before NEURON_RT_NUM_CORES",
    "NEURON_RT_INSPECT_ENABLE": "`1`: as `neuron-sim run --profile`, when that is not given",
    "NEURON_RT_INSPECT_OUTPUT_DIR": "its folder, else `./output`",
    "NEURON_LOGICAL_NC_CONFIG": "what torch_neuronx.utils.get_logical_neuron_cores() returns",
    "NEURON_CC_FLAGS": "flags of the compiler, for kernels",
    "TORCH_NEURONX_DEBUG_DIR": "folder of the artefacts of torch.compile",
    "TORCH_NEURONX_PRESERVE_COMPILATION_ARTIFACTS": "`1`: keeps them",
    "TORCH_NEURONX_DISABLE_FALLBACK_EXECUTION": "`0`: a graph that does not compile runs eagerly",
    "TORCH_NEURONX_RETAIN_DEVICE_MODE": "`1`: results are where the inputs are",
    "TORCH_NEURONX_DYNAMO_DISABLE_CPU_AUTOCOPY": "`1`: CPU inputs of a graph are an error",
    "TORCH_NEURONX_FALLBACK_ONLY_FOR_UNIMPLEMENTED_OPS": (
        "`1`: an operator that has a kernel which does not take its arguments is an error"
    ),
    "TORCH_NEURONX_ENABLED_METRIC_TABLES": "`graph_stats`: the table of get_dynamo_metrics()",
    "TORCH_NEURONX_METRICS_DIR": "its folder, else `/tmp`",
    "TORCH_NEURONX_ENABLE_STACK_TRACE": "records of launches always have the line of the script",
}
"""What each variable does that has an effect here."""

INERT = {
    "TORCH_NEURONX_COMPLEX_DECOMPOSE": "complex operators run on the CPU",
    "TORCH_NEURONX_ENABLE_ASYNC_NRT": "launches are always asynchronous in simulated time",
    "TORCH_NEURONX_ENABLE_CONCATENATION": "operators outside torch.compile run one by one",
    "TORCH_NEURONX_LOG_LEVEL": "neuron_sim has no log",
    "TORCH_NEURONX_MLIR_ATEN_OPS": "there is no MLIR",
    "TORCH_NEURONX_NEFF_CACHE_DIR": "programs are kept in memory only",
    "TORCH_NEURONX_NEFF_DISABLE_CACHE": "torch.neuron_sim.set_kernel_cache_limit(0) does it",
    "TORCH_NEURONX_DISABLE_NEFF_CACHE": "torch.neuron_sim.set_kernel_cache_limit(0) does it",
    "NEURON_USE_SPLIT_ALLGATHER": "collectives have one algorithm",
    "NEURON_USE_SPLIT_REDUCE_SCATTER": "collectives have one algorithm",
    "COLLECTIVE_BUCKETSIZE_IN_MB": "collectives are not split",
    "COLLECTIVE_MIN_BUCKETS": "collectives are not split",
}
"""Why each variable has none that the vendor documents and that changes nothing here."""

PREFIX = "TORCH_NEURONX_"
_MOST_DEVICES = 16
_PROFILE_FOLDER = "./output"


def apply(environment: MutableMapping[str, str]) -> None:
    """Gives the simulator the settings that the vendor's variables stand for. ValueError for a
    number of cores that is none."""
    for name in ("NEURON_RT_VISIBLE_CORES", "NEURON_RT_NUM_CORES"):
        if environment.get(name) and not environment.get("NEURON_SIM_DEVICES"):
            count = _cores(name, environment[name])
            environment["NEURON_SIM_DEVICES"] = str(min(count, _MOST_DEVICES))
    if environment.get("NEURON_RT_INSPECT_ENABLE") == "1" and not environment.get(settings.PROFILE):
        folder = environment.get("NEURON_RT_INSPECT_OUTPUT_DIR") or _PROFILE_FOLDER
        os.makedirs(folder, exist_ok=True)
        environment[settings.PROFILE] = os.path.abspath(folder)


def _cores(name: str, value: str) -> int:
    """The number of cores that the value of a variable names."""
    count = 0
    for entry in value.split(",") if name == "NEURON_RT_VISIBLE_CORES" else [f"1-{value}"]:
        first, _, last = entry.strip().partition("-")
        if not first.isdecimal() or not (last or first).isdecimal():
            raise ValueError(f"{name} is {value!r}, which names no NeuronCores.")
        count += max(0, int(last or first) - int(first) + 1)
    if not count:
        raise ValueError(f"{name} is {value!r}, which names no NeuronCores.")
    return count


def warn_of_inert(environment: Mapping[str, str]) -> None:
    """Warns of each variable that is set and has no effect here, with the reason."""
    for name in sorted(environment):
        if name in ACTING or not (name in INERT or name.startswith(PREFIX)):
            continue
        reason = INERT.get(name, "it is not known here")
        warnings.warn(f"{name} has no effect in neuron_sim: {reason}.", stacklevel=2)
