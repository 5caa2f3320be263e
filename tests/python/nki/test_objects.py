"""Classes whose objects kernels of the new language use: nl.NKIObject."""

import dataclasses

import neuron_sim.nki as nki
import neuron_sim.nki.language as nl
import numpy as np
import pytest
from isa_harness import in_hbm
from nki_errors import error_of

A = np.random.default_rng(6).uniform(-1, 1, (8, 4)).astype(np.float32)


class Configuration(nl.NKIObject):
    scale: float
    offset: float = 1.0


@dataclasses.dataclass
class AsDataclass(nl.NKIObject):
    scale: float
    offset: float = 1.0


BOTH = pytest.mark.parametrize("configuration", [Configuration, AsDataclass])


@BOTH
def test_a_kernel_reads_fields_given_in_order_and_by_name(configuration):
    @nki.jit
    def kernel(a, settings):
        return in_hbm(nl, nl.load(a) * settings.scale + settings.offset)

    assert np.allclose(kernel(A, configuration(2.0)), 2 * A + 1, rtol=1e-6)
    assert np.allclose(kernel(A, configuration(2.0, offset=0.0)), 2 * A)


@BOTH
def test_a_field_without_a_value_is_one_that_the_kernel_assigns_later(configuration):
    @nki.jit
    def kernel(a):
        settings = configuration(offset=0.5)
        settings.scale = 3.0
        return in_hbm(nl, nl.load(a) * settings.scale + settings.offset)

    assert np.allclose(kernel(A), 3 * A + 0.5, rtol=1e-6)
    assert "'scale'" in error_of(lambda: configuration().scale, kind=AttributeError)


@BOTH
def test_values_that_no_field_takes_are_refused(configuration):
    name = configuration.__name__
    assert error_of(configuration, 1.0, 2.0, 3.0, kind=TypeError) == (
        f"{name}() takes 2 fields, 3 were given."
    )
    for given in ({"other": 1.0}, {"__init__": 1.0}):
        assert error_of(lambda given=given: configuration(1.0, **given), kind=TypeError) == (
            f"{name}() has no further field '{next(iter(given))}'."
        )
    assert error_of(lambda: configuration(1.0, scale=2.0), kind=TypeError) == (
        f"{name}() has no further field 'scale'."
    )


def test_attributes_without_an_annotation_are_given_by_name():
    @dataclasses.dataclass
    class Section(nl.NKIObject):
        index = None
        offset = 4

        def end(self):
            return self.offset + 1

    section = Section(index=3)
    assert (section.index, section.offset, section.end()) == (3, 4, 5)
    assert Section().index is None
    assert error_of(lambda: Section(3), kind=TypeError) == (
        "Section() takes 0 fields, 1 were given."
    )
    assert error_of(lambda: Section(end=3), kind=TypeError) == (
        "Section() has no further field 'end'."
    )


def test_what_a_dataclass_declares_about_its_fields_holds():
    @dataclasses.dataclass(frozen=True)
    class Sizes(nl.NKIObject):
        rows: int
        tiles: list = dataclasses.field(default_factory=list)
        named: int = dataclasses.field(default=1, kw_only=True)

        def __post_init__(self):
            object.__setattr__(self, "blocks", self.rows // 128)

    sizes = Sizes(256)
    assert (sizes.rows, sizes.tiles, sizes.named, sizes.blocks) == (256, [], 1, 2)
    assert Sizes(1).tiles is not Sizes(1).tiles
    assert dataclasses.replace(sizes, rows=512) == Sizes(512)
    assert error_of(lambda: Sizes(1, [], 2), kind=TypeError) == (
        "Sizes() takes 2 fields, 3 were given."
    )


def test_a_class_with_its_own_init_is_made_by_it():
    class Doubled(nl.NKIObject):
        value: int

        def __init__(self, value):
            self.value = 2 * value

    class Inherits(Doubled):
        pass

    assert (Doubled(2).value, Inherits(3).value) == (4, 6)


def test_fields_of_base_classes_come_first():
    @dataclasses.dataclass
    class Named(Configuration):
        name: str = "n"

    named = Named(2.0, 3.0, "x")
    assert (named.scale, named.offset, named.name) == (2.0, 3.0, "x")
