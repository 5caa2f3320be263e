"""Random number functions of `torch.neuron_sim`. A seed gives the same numbers as on the CPU,
unless the chip is made the source of random numbers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal, overload

import torch

from neuron_sim import _C
from neuron_sim.torch_backend.state import DeviceLike, device_count, device_index

RandomSource = Literal["host", "chip"]


def random_source() -> RandomSource:
    """Who draws the numbers of distributions (`rand`, `randn`, `bernoulli`, `exponential_`,
    `multinomial`, and what is built from them).

    Initially the environment variable NEURON_SIM_RANDOM_SOURCE, else "host".
    """
    return _C.random_source()


def set_random_source(source: RandomSource) -> None:
    """Chooses who draws the numbers of distributions, for all threads of the process.

    "host": the host side, the numbers that the CPU gives for that seed; "chip": the chip's
    generator, seeded from the host's. ValueError for anything else. Dropout and `bernoulli_` with
    one probability are the chip's with both.
    """
    _C.set_random_source(source)


def default_generator(device: DeviceLike = None) -> torch.Generator:
    """The generator that `device` draws from when none is given."""
    return _C.default_generator(device_index(device))


class Generators(Sequence[torch.Generator]):
    """The generators of all devices, as torch.cuda.default_generators; made when asked for."""

    def __len__(self) -> int:
        return device_count()

    @overload
    def __getitem__(self, index: int) -> torch.Generator: ...

    @overload
    def __getitem__(self, index: slice) -> list[torch.Generator]: ...

    def __getitem__(self, index: int | slice) -> torch.Generator | list[torch.Generator]:
        indices = range(device_count())[index]
        if isinstance(indices, range):
            return [default_generator(each) for each in indices]
        return default_generator(indices)


default_generators = Generators()


def manual_seed(seed: int) -> None:
    """Seeds the current device."""
    default_generator().manual_seed(int(seed))


def manual_seed_all(seed: int) -> None:
    """Seeds all devices; torch.manual_seed calls it."""
    for index in range(device_count()):
        default_generator(index).manual_seed(int(seed))


def seed() -> None:
    """Seeds the current device with a random number."""
    default_generator().seed()


def seed_all() -> None:
    """Seeds all devices with one random number."""
    manual_seed_all(default_generator().seed())


def initial_seed() -> int:
    """The seed of the current device."""
    return default_generator().initial_seed()


def get_rng_state(device: DeviceLike = None) -> torch.Tensor:
    """The state of a device's generator, a CPU tensor of bytes."""
    return default_generator(device).get_state()


def get_rng_state_all() -> list[torch.Tensor]:
    """The states of all devices' generators."""
    return [get_rng_state(index) for index in range(device_count())]


def set_rng_state(new_state: torch.Tensor, device: DeviceLike = None) -> None:
    """Sets the state of a device's generator."""
    default_generator(device).set_state(new_state)


def set_rng_state_all(new_states: Iterable[torch.Tensor]) -> None:
    """Sets the states of all devices' generators."""
    for index, state in enumerate(new_states):
        set_rng_state(state, index)
