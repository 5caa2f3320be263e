"""Fixtures of tests of models: no answers that the user keeps, the environment as it was."""

import os

import pytest
from neuron_sim.settings import ARCHITECTURE


@pytest.fixture(autouse=True)
def own_cache(tmp_path_factory, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture(autouse=True)
def own_architecture(monkeypatch):
    """The command writes its choice into the environment, where later tests must not find it."""
    chosen = os.environ.get(ARCHITECTURE)
    monkeypatch.setenv(ARCHITECTURE, "")  # what is undone includes changes of the test itself
    if chosen is None:
        monkeypatch.delenv(ARCHITECTURE)
    else:
        monkeypatch.setenv(ARCHITECTURE, chosen)
