"""Sparse tensors: products and sums of values run on the device, index arithmetic on the host side,
what remains on the CPU. The oracle is dense arithmetic in double precision."""

import pytest
import torch
from against_cpu import DEVICE
from device_type import DEVICE_TYPE
from torch import nn


def matrix(*shape, dtype=torch.float32):
    """A third of its elements are zero."""
    return torch.randn(shape).where(torch.rand(shape) > 0.3, 0).to(dtype)


def twice(x):
    """Every entry twice, which a tensor that is not coalesced may have."""
    s = x.to_sparse()
    indices, values = (
        torch.cat([s.indices()] * 2, 1),
        torch.cat([s.values() * 0.25, s.values() * 0.75]),
    )
    return torch.sparse_coo_tensor(indices, values, x.shape, check_invariants=True)


LAYOUTS = {
    "coo": lambda x: x.to_sparse(),
    "uncoalesced": twice,
    "csr": lambda x: x.to_sparse_csr(),
    "csc": lambda x: x.to_sparse_csc(),
}


def close(ours, theirs, tolerance=1e-5):
    assert ours.device == torch.device(DEVICE)
    found = ours.detach().to_dense() if ours.layout != torch.strided else ours.detach()
    assert found.shape == theirs.shape
    torch.testing.assert_close(
        found.cpu().double(), theirs.double(), rtol=tolerance, atol=tolerance
    )


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16], ids=str)
def test_products_with_dense_matrices_run_on_the_device(layout, dtype):
    x, y, z = matrix(6, 9), torch.randn(9, 4), torch.randn(6, 4)
    there = LAYOUTS[layout](x).to(DEVICE, dtype)
    dense, addend = y.to(DEVICE, dtype), z.to(DEVICE, dtype)
    x, y, z = (t.to(dtype).double() for t in (x, y, z))
    tolerance = 1e-5 if dtype == torch.float32 else 2e-2
    with torch.neuron_sim.record_launches() as launches:
        close(torch.mm(there, dense), x @ y, tolerance)
    assert {"aten::index_select", "aten::index_add"} <= {one.operator for one in launches}
    close(there @ dense.t().contiguous().t(), x @ y, tolerance)
    close(torch.addmm(addend, there, dense, beta=2, alpha=-3), 2 * z - 3 * (x @ y), tolerance)
    close(addend.t().contiguous() @ there, z.t() @ x, tolerance)
    close(torch.sparse.mm(there, dense[:, :0]), (x @ y)[:, :0])


def test_products_without_entries_are_zero():
    for empty in (torch.sparse_coo_tensor(size=(3, 4)), torch.zeros(3, 4).to_sparse_csr()):
        close(torch.mm(empty.to(DEVICE), torch.ones(4, 2, device=DEVICE)), torch.zeros(3, 2))


def test_nan_and_infinity_stay_in_their_rows():
    x = torch.tensor([[0.0, 1.0], [float("nan"), 0.0], [float("inf"), 2.0]])
    y = torch.tensor([[1.0, -1.0], [float("inf"), 2.0]])
    expected = torch.sparse.mm(x.to_sparse(), y)
    found = torch.sparse.mm(x.to_sparse().to(DEVICE), y.to(DEVICE)).cpu()
    torch.testing.assert_close(found, expected, equal_nan=True)


def test_what_does_not_fit_is_refused_as_on_the_cpu():
    x, y = matrix(3, 4).to_sparse(), torch.ones(3, 2)
    for device in ("cpu", DEVICE):
        with pytest.raises(RuntimeError, match="3x4 and 3x2|Expected dim 0 size 4, got 3"):
            torch.mm(x.to(device), y.to(device))
        with pytest.raises(RuntimeError, match="dtype|type"):
            torch.mm(x.to(device), torch.ones(4, 2, dtype=torch.float16, device=device))
    bad = torch.sparse_coo_tensor([[0], [7]], [1.0], (3, 4), check_invariants=False).to(DEVICE)
    with pytest.raises(IndexError):
        torch.mm(bad, torch.ones(4, 2, device=DEVICE))


def test_a_sparse_tensor_is_made_taken_apart_and_copied():
    x = matrix(4, 5, 3)
    for sparse_dim in (1, 2, 3):
        there, here = x.to(DEVICE).to_sparse(sparse_dim), x.to_sparse(sparse_dim)
        for name in ("indices", "values"):
            assert torch.equal(getattr(there, name)().cpu(), getattr(here, name)())
        assert (there._nnz(), there.sparse_dim(), there.dense_dim()) == (
            here._nnz(), here.sparse_dim(), here.dense_dim(),
        )  # fmt: skip
        moved = there.to(f"{DEVICE_TYPE}:0").to(DEVICE)
        for copy in (there, there.clone(), moved, here.to(DEVICE)):
            close(copy, x)
        assert torch.equal(there.cpu().to_dense(), x)
        close(there.transpose(0, sparse_dim - 1), x.transpose(0, sparse_dim - 1))
    close(twice(x).to(DEVICE), x)
    merged = twice(x).to(DEVICE).coalesce()
    assert merged.is_coalesced() and torch.equal(merged.indices().cpu(), x.to_sparse().indices())
    assert "layout=torch.sparse_coo" in repr(merged)


def test_values_are_scaled_and_added_to_dense_tensors():
    x, y = matrix(4, 5), torch.randn(4, 5)
    there = twice(x).to(DEVICE)
    close(there * 2.5, x * 2.5)
    close(there * y.to(DEVICE), x * y)
    close(y.to(DEVICE).add_(there, alpha=-0.5), y - 0.5 * x)
    close(torch.sparse.sum(there), x.sum())
    mask = x.to_sparse().to(DEVICE)
    close(y.to(DEVICE).sparse_mask(mask), torch.where(x != 0, y, 0))


def trained(device, optimizer, **options):
    torch.manual_seed(3)
    table = nn.EmbeddingBag(11, 4, sparse=True, mode="sum")
    table, rows = table.to(device), torch.tensor([[1, 2, 1], [5, 10, 2]], device=device)
    step = optimizer(table.parameters(), lr=0.1, **options)
    for _ in range(3):
        step.zero_grad()
        table(rows).square().sum().backward()
        assert table.weight.grad.layout == torch.sparse_coo
        step.step()
    return table.weight.detach()


@pytest.mark.parametrize(
    "optimizer", [torch.optim.SGD, torch.optim.SparseAdam, torch.optim.Adagrad]
)
def test_embeddings_with_sparse_gradients_train(optimizer):
    torch.neuron_sim.set_fallback_policy("allow")  # embedding_bag, until the fixture restores it
    close(trained(DEVICE, optimizer), trained("cpu", optimizer))


def test_gradients_reach_both_operands_of_a_product():
    x, y = matrix(5, 6), torch.randn(6, 3)
    found = [x.to_sparse().to(DEVICE).requires_grad_(), y.to(DEVICE).requires_grad_()]
    expected = [x.to_sparse().requires_grad_(), y.clone().requires_grad_()]
    for pair in (found, expected):
        torch.sparse.mm(*pair).square().sum().backward()
    close(found[0].grad, expected[0].grad.to_dense())
    close(found[1].grad, expected[1].grad)


class GraphConvolution(nn.Module):
    """A layer of a graph convolutional network: neighbours @ (features @ weight)."""

    def __init__(self, inputs, outputs):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(inputs, outputs) * 0.3)

    def forward(self, features, neighbours):
        return torch.spmm(neighbours, torch.mm(features, self.weight))


def losses(device):
    """Both operands of a layer are sparse: features and the normalised graph."""
    torch.manual_seed(5)
    graph = (torch.rand(20, 20) > 0.8).float() + torch.eye(20)
    degrees = torch.diag(graph.sum(1).rsqrt()).to_sparse()
    graph = (degrees @ graph @ degrees.to_dense()).to_sparse().to(device)
    features = matrix(20, 8).to_sparse().to(device)
    layers = [GraphConvolution(8, 6).to(device), GraphConvolution(6, 3).to(device)]
    optimizer = torch.optim.Adam([p for layer in layers for p in layer.parameters()], lr=0.05)
    goal = torch.arange(20, device=device) % 3
    found = []
    for _ in range(4):
        optimizer.zero_grad()
        logits = layers[1](layers[0](features, graph).relu(), graph)
        loss = nn.functional.nll_loss(logits.log_softmax(1), goal)
        loss.backward()
        optimizer.step()
        found.append(loss.item())
    return found


def test_a_graph_convolutional_network_trains_in_strict_mode():
    assert losses(DEVICE) == pytest.approx(losses("cpu"), rel=1e-4)


def test_what_has_no_kernel_falls_back_with_its_layout_as_reason():
    x = matrix(4, 5)
    there = x.to_sparse().to(DEVICE)
    with pytest.raises(NotImplementedError, match="argument 'self' has layout Sparse"):
        torch.sparse.softmax(there, 1)
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    torch.neuron_sim.reset_fallback_counts()
    close(torch.sparse.softmax(there, 1), torch.sparse.softmax(x.to_sparse(), 1).to_dense())
    (one,) = torch.neuron_sim.fallbacks()
    entries = there._nnz() * (2 * 8 + 4)
    assert (one.op, one.bytes_moved) == ("aten::_sparse_softmax", 2 * entries)
    close(there.clone().mul_(3).add_(there), 4 * x)
    close(torch.sparse.mm(there, there.t()), x @ x.t())
    close(there.double() @ torch.eye(5, dtype=torch.float64, device=DEVICE), x)
    compressed = x.to_sparse_csr().to(DEVICE)
    close(compressed * 2 + compressed, 3 * x)
    with pytest.raises(NotImplementedError, match="layout Sparse, and the CPU has no.*to_dense()"):
        there.exp()


def test_no_graph_and_no_timing_without_values_hides_what_it_cannot_do():
    there = matrix(4, 5).to_sparse().to(DEVICE)
    torch.neuron_sim.set_fallback_policy("allow")  # until the fixture restores it
    with torch.neuron_sim.timing_only(), pytest.raises(NotImplementedError, match="only time"):
        torch.sparse.softmax(there, 1)
    compiled = torch.compile(lambda s, y: torch.sparse.mm(s, y) + 1, backend=DEVICE_TYPE)
    y = torch.randn(5, 2)
    close(compiled(there, y.to(DEVICE)), there.cpu().to_dense() @ y + 1)
