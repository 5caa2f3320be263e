"""Control flow of kernels: loops, what they claim and carry, registers, scopes of the source."""
