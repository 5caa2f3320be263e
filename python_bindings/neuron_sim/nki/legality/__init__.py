"""What the vendor's tools would refuse: rules.toml has each rule, `judge` what becomes of it.

Nothing here knows how kernels are called or their instructions made: both rooms import this one.
"""
