"""Other people's networks, from their configuration, on the device and on the CPU.

`catalogue` builds them, `forward`, `generation` and `training` compare the device with the CPU, and
`report.py` runs everything and writes docs/models.md.
"""
