"""nki.compiler.target: the chip that kernels are compiled for."""

from ..isa.versions import architecture_of, generation_of


def resolve_target() -> str:
    """The target of a kernel that is called now: inf2, trn1, trn2, trn3 or a file."""
    return architecture_of()


def target_to_nc_version(target: str) -> int:
    """2, 3 or 4: the generation of a target ("trn2", "gen3", "inf2", ...)."""
    return generation_of(target)
