"""torch.compile(backend="neuron_sim") on trn1, whose Tensor engine transposes by multiplying."""

from faults import run_apart

# Rows with NaN of products and of attention whose operand has one infinite number; then times.
PROGRAM = """
import torch
import neuron_sim.torch_device
from torch.nn import functional as F

def run(function, operands, **options):
    torch._dynamo.reset()
    compiled = torch.compile(function, backend="neuron_sim", options=options)
    with torch.neuron_sim.record_launches() as launches:
        result = compiled(*operands).float().cpu()
    return result, launches[0].body_us

torch.manual_seed(0)
found = []
finite = torch.randn(140, 96).bfloat16()
infinite = finite.clone()
infinite[5, 3] = float("inf")
weight = torch.randn(96, 40).bfloat16().to("neuron_sim")
for x in (finite, infinite):
    operands = x.to("neuron_sim"), weight
    eager = torch.mm(*operands).float().cpu()
    multiplied, fast = run(torch.mm, operands)
    exact, slow = run(torch.mm, operands, exact_transposes=True)
    found.append([
        torch.equal(exact, eager),
        torch.equal(multiplied, eager),
        multiplied.isnan().any(1).nonzero().flatten().tolist(),
        fast < slow,
    ])
q = torch.randn(1, 2, 130, 32).bfloat16().to("neuron_sim")
eager = F.scaled_dot_product_attention(q, q, q).float().cpu()
for exact in (False, True):
    result, _ = run(lambda q: F.scaled_dot_product_attention(q, q, q), [q], exact_transposes=exact)
    found.append(torch.equal(result, eager))
report(found)
"""


def test_transposes_by_multiplying_give_the_same_bytes_but_spread_infinities():
    finite, infinite, *attention = run_apart(PROGRAM, NEURON_SIM_ARCH="trn1").result()
    assert finite == [True, True, [], True]
    others = [row for row in range(128) if row != 5]
    assert infinite == [True, False, others, True]
    assert attention == [True, True]
