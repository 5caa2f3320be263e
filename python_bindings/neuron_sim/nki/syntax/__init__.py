"""The syntax trees of running code: what a function reads, assigns and returns, and where it is.

Every version of Python has the same trees; their instructions differ. Nothing here imports the
rest of the package but its core.
"""
