"""Tests of models ask no answers that the user keeps, and leave the environment as it was."""

from model_environment import own_architecture, own_cache  # noqa: F401
