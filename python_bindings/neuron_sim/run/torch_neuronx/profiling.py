"""torch_neuronx.profiling: profiles of the device by torch.profiler (the vendor's page
tools/neuron-explorer/how-to-profile-pytorch).

    config = NeuronConfig(modes=[ProfileMode.DEVICE], profile_output_dir="profile")
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.PrivateUse1],
                 experimental_config=config,
                 on_trace_ready=NeuronProfiler(config).export_trace):
        ...

leaves in profile/neuron_sim_pid_N what `neuron-sim run --profile` writes: a page and the program of
every kernel, an index, and the trace of torch.profiler.
"""

from __future__ import annotations

import enum
import os
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from torch._C._profiler import _ExperimentalConfig

from neuron_sim import _C
from neuron_sim.run.launch_profile import LaunchProfile

__all__ = ["NeuronConfig", "NeuronProfiler", "ProfileMode"]

TRACE = "pytorch_trace.json"
"""The file of torch.profiler's trace in the folder of a profile."""

_FOLDER = "profile_output_dir"


class ProfileMode(enum.Enum):
    """What a profile collects."""

    DEVICE = "device"
    """Instructions of every kernel."""
    RUNTIME = "runtime"
    """Kernels and their times; the profile of DEVICE has them too."""
    CPU_UTIL = "cpu_util"
    """Use of the host's processors; here the profile leaves it out."""
    HOST_MEMORY = "host_memory"
    """Use of the host's memory; here the profile leaves it out."""


class NeuronConfig(_ExperimentalConfig):
    """The experimental_config of torch.profiler.profile for a profile of the device.

    modes: of ProfileMode. profile_output_dir: a folder, made when the profile ends. Other options
    of the vendor (capture_enabled_for_nc, max_events_per_nc, ...) change nothing: a profile has all
    devices and every kernel once; one warning names them.
    """

    def __init__(
        self,
        modes: Sequence[ProfileMode] = (ProfileMode.DEVICE, ProfileMode.RUNTIME),
        profile_output_dir: str | os.PathLike[str] = "./output",
        **options: Any,
    ) -> None:
        for mode in modes:
            if not isinstance(mode, ProfileMode):
                raise TypeError(f"NeuronConfig: 'modes' has {mode!r}, which is no ProfileMode.")
        self.modes = list(modes)
        self.profile_output_dir = os.fspath(profile_output_dir)
        if ";" in self.profile_output_dir:
            raise ValueError(f"NeuronConfig: '{_FOLDER}' {self.profile_output_dir!r} has a ';'.")
        left_out = [str(mode) for mode in modes if mode in _LEFT_OUT]
        ignored = sorted(options) + left_out
        if ignored:
            warnings.warn(
                f"NeuronConfig: {', '.join(ignored)} have no effect in neuron_sim.", stacklevel=2
            )
        super().__init__(custom_profiler_config=f"{_FOLDER}:{self.profile_output_dir}")


_LEFT_OUT = (ProfileMode.CPU_UTIL, ProfileMode.HOST_MEMORY)


class NeuronProfiler:
    """Writes the trace of torch.profiler beside the profile of the device."""

    def __init__(self, config: NeuronConfig | None = None) -> None:
        self.config = config or NeuronConfig()

    def export_trace(self, profiler: Any) -> None:
        """For on_trace_ready: writes `pytorch_trace.json` into the profile's folder. OSError."""
        folder = session_folder(self.config.profile_output_dir)
        profiler.export_chrome_trace(os.fspath(folder / TRACE))


def session_folder(output: str | os.PathLike[str]) -> Path:
    """The folder of this process in the folder of profiles; made if it is not there. OSError."""
    folder = Path(output) / f"neuron_sim_pid_{os.getpid()}"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


_running: dict[str, LaunchProfile] = {}
"""The profiles that run, by their folder of profiles."""


def _follow(configuration: str, started: bool) -> None:
    """Hears of every profile of torch.profiler on the device; `configuration`: "key:value;..."."""
    options = dict(entry.partition(":")[::2] for entry in configuration.split(";"))
    output = options.get(_FOLDER)
    if not output:
        return
    if started:
        _running[output] = LaunchProfile(os.fspath(session_folder(output)))
    elif output in _running:
        _running.pop(output).stop()


_C.observe_profiles(_follow)
