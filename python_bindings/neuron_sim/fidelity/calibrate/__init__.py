"""Fits parameters of an architecture file to traces and measured latencies.

Parameters are named, bounded, and refused when the data does not determine them. The hand-written
architecture files are unchanged: results go into an overlay of fitted values.
"""
