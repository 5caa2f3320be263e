"""Lowers functions and operators of both languages to instructions on tiles."""

from . import overloads as _overloads
