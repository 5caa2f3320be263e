"""Calls of instructions that a trace emitted before, see core_module/tracing/emitted_calls.h."""

import random
import re

import neuron_sim.neuronxcc.nki as nki
import neuron_sim.neuronxcc.nki.isa as nisa
import neuron_sim.neuronxcc.nki.language as nl
import numpy as np
import pytest

COLUMNS = 64
VALUES = np.arange(128 * COLUMNS, dtype=np.float32).reshape(128, COLUMNS) / 1000


def program(kernel):
    """The listing of a kernel before the compiler's passes, without lines of the source."""
    traced = kernel.call(VALUES).trace_anew()
    return re.sub(r"\S+\.py:\d+", "", traced.source.listing())


STATEMENTS = (
    "x[:, {f}:{f} + {w}] = nisa.tensor_scalar(y[:, {f}:{f} + {w}], np.multiply, {c})",
    "y[:, {f}:{f} + {w}] = nisa.tensor_tensor(x[:, {f}:{f} + {w}], y[:, 0:{w}], op=np.add)",
    "y[i_p, {f} + i_f] = nisa.activation(np.exp, x[i_p, {f} + i_f], scale={c})",
    "z = nl.load(a[i_p, {f} + i_f], mask=({f} + i_f < {limit}))",
    "nl.store(out[i_p, {f} + i_f], x[i_p, {f} + i_f], mask=({f} + i_f < {limit}))",
    "z = nl.ndarray((nl.par_dim(128), {w}), dtype=nl.float32, buffer=nl.sbuf)\n"
    "        z[...] = nl.load(a[:, {f}:{f} + {w}])\n"
    "        x[:, {f}:{f} + {w}] = nl.exp(z)",
    "x, y = y, x",
    "psum = nl.zeros((128, {w}), nl.float32, buffer=nl.psum)\n"
    "        psum[...] += nisa.nc_matmul(b, x[:, {f}:{f} + {w}])\n"
    "        psum[...] += nisa.nc_matmul(b, y[:, {f}:{f} + {w}])\n"
    "        x[:, {f}:{f} + {w}] = nl.copy(psum)",
)
HEAD = """
def kernel(a):
    out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
    x, y, b = nl.load(a), nl.load(a), nl.load(a)
    b = nl.ndarray((nl.par_dim(128), 128), dtype=nl.float32, buffer=nl.sbuf)
    b[...] = 1.0
    i_p, i_f = nl.arange(128)[:, None], nl.arange(8)[None, :]
"""
TAIL = "    nl.store(out, x)\n    return out\n"


def kernel_of(body):
    names = {"nl": nl, "nisa": nisa, "np": np}
    exec(compile(HEAD + body + TAIL, "<repeated>", "exec"), names)
    return nki.jit(names["kernel"])


@pytest.mark.parametrize("seed", range(12))
def test_a_loop_emits_what_its_iterations_emit_on_lines_of_their_own(seed):
    generator = random.Random(seed)
    chosen = generator.choices(STATEMENTS, k=4)
    values = [
        {
            "f": generator.choice((0, 8, 8, 56)),
            "w": generator.choice((4, 8)),
            "c": generator.choice((0.5, 2.0)),
            "limit": generator.choice((60, 64)),
        }
        for _ in range(12)
    ]
    lines = "".join(f"        {each}\n" for each in chosen)
    names = {name: f"v['{name}']" for name in values[0]}
    looped = f"    for v in {values!r}:\n" + lines.format(**names)
    unrolled = "".join("    if True:\n" + lines.format(**each) for each in values)
    assert program(kernel_of(looped)) == program(kernel_of(unrolled))


def test_a_mask_that_cuts_some_iterations_cuts_those_only():
    @nki.jit
    def kernel(a):
        out = nl.ndarray(a.shape, dtype=a.dtype, buffer=nl.shared_hbm)
        i_p, i_f = nl.arange(128)[:, None], nl.arange(16)[None, :]
        for i in nl.static_range(12):
            first = i % 4 * 16 + 8
            x = nl.load(a[i_p, first + i_f], mask=(first + i_f < COLUMNS))
            nl.store(out[i_p, first + i_f], x, mask=(first + i_f < COLUMNS))
        nl.store(out[:, 0:8], nl.load(a[:, 0:8]))
        return out

    np.testing.assert_array_equal(kernel(VALUES), VALUES)


def refused(kernel):
    with pytest.raises(Exception) as caught:
        kernel.call(VALUES).trace_anew()
    return type(caught.value), str(caught.value)


@pytest.mark.parametrize(("good", "bad", "words"), [
    ("slice(0, 8)", "slice(8, 17)", "equal element counts"),
    ("slice(0, 8)", "slice(60, 68)", "Out-of-bound"),
    ("slice(0, 8)", "slice(8, 8)", ""),
])  # fmt: skip
def test_an_iteration_that_differs_is_refused_as_if_it_were_the_first(good, bad, words):
    body = "    for f in ({}):\n        nisa.dma_copy(dst=out[:, 0:8], src=a[:, f])\n"
    later = refused(kernel_of(body.format(", ".join([good, good, good, bad]))))
    at_once = refused(kernel_of(body.format(f"{bad},")))
    assert later == at_once
    assert words in later[1]


@pytest.mark.parametrize("first", ["psum[...] += product", "psum[...] = product"])
def test_products_of_a_line_begin_and_continue_the_sums_of_several_tiles(first):
    body = f"""
    for f in (0, 8, 0, 16, 8):
        psum = nl.zeros((128, 8), nl.float32, buffer=nl.psum)
        for k in nl.static_range(3):
            product = nisa.nc_matmul(b, x[:, f:f + 8])
            if k == 0:
                {first}
            else:
                psum[...] += product
            del product
        y[:, f:f + 8] = nl.copy(psum)
    x = y
"""
    expected = VALUES.copy()
    expected[:, :24] = 3 * VALUES[:, :24].sum(axis=0)
    np.testing.assert_allclose(kernel_of(body)(VALUES), expected, rtol=1e-6)
