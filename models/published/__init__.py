"""Whole models whose latencies are published, at full size: networks and their table."""
