"""Fits parameters of an architecture file to traces and measured latencies.

What is fitted is named, bounded, and refused when the data does not determine it. The hand-written
architecture files stay as they are: results go into an overlay of fitted values.
"""
