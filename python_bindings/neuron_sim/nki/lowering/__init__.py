"""Lowers functions and operators of both languages to instructions on tiles."""

from . import overloads as _overloads  # noqa: F401 - attaches the operators of Tensor
