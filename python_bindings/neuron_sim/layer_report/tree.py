"""The modules of a model as a tree in which children sum to their parent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from torch import nn

from neuron_sim.layer_report.modules import first_paths, modules_by_path
from neuron_sim.layer_report.uses import OVERHEAD, Use, Uses

OUTSIDE = "(outside of submodules)"
"""The row of what a module that has submodules launches itself; of the model also what belongs to
no module."""


@dataclass
class Layer:
    """A module, or what is left of one beside its submodules."""

    path: str
    """"" for the model; of a remainder that of its module."""
    name: str
    """The last word of the path, OUTSIDE, or OVERHEAD."""
    kind: str = ""
    """The class of the module; "" for a remainder."""
    use: Use = field(default_factory=Use)
    """With its submodules."""
    calls: int | None = None
    """None where it is not known."""
    aliases: list[str] = field(default_factory=list)
    """Other paths of the same module."""
    children: list[Layer] = field(default_factory=list)
    """In the order of the model, then remainders; the times of all sum to `use`."""

    def walk(self, depth: int | None = None, level: int = 0) -> Iterator[tuple[int, Layer]]:
        """It and the layers below it, with their levels, at most `depth` of them."""
        yield level, self
        if depth is None or level < depth:
            for child in self.children:
                yield from child.walk(depth, level + 1)


def layer_tree(
    model: nn.Module,
    uses: Uses,
    calls: Mapping[str, int] | None,
    label: Callable[[str], str] = str,
) -> tuple[Layer, Counter[str]]:
    """The tree of all modules that launched something, and the classes of those without submodules
    that did not. Paths with one `label` are one layer."""
    modules = modules_by_path(model)
    firsts = first_paths(modules)

    def place(path: str) -> str:
        return label(firsts.get(path, path))

    layers = _layers(modules, place)
    for path, use in uses.items():
        if path != OVERHEAD:
            _with_parents(layers, place(path)).use.add(use)
    for path, count in (calls or {}).items():
        layer = _with_parents(layers, place(path))
        layer.calls = (layer.calls or 0) + count
    children: dict[str, list[Layer]] = {}
    for path, layer in layers.items():
        if path:
            children.setdefault(path.rpartition(".")[0], []).append(layer)
    _connect(layers[""], children)
    if OVERHEAD in uses:
        _add_remainder(layers[""], OVERHEAD, uses[OVERHEAD])
    busy = {id(module) for path, module in modules.items() if layers[place(path)].use.launches}
    leaves = {id(module): module for module in modules.values() if not module._modules}
    idle = (type(module).__name__ for key, module in leaves.items() if key not in busy)
    return layers[""], Counter(idle)


def _layers(modules: Mapping[str, nn.Module], place: Callable[[str], str]) -> dict[str, Layer]:
    """The layers of all modules by place, in the order of the model, without what they took."""
    layers: dict[str, Layer] = {}
    names: dict[int, list[str]] = {}  # paths by id of the module
    for path, module in modules.items():
        layers.setdefault(place(path), _layer(place(path), type(module).__name__))
        names.setdefault(id(module), []).append(path)
    for path, module in modules.items():
        layer = layers[place(path)]
        if layer.path == path:  # a layer of several modules has no other names
            layer.aliases = [name for name in names[id(module)] if name != path]
    return layers


def _layer(path: str, kind: str = "") -> Layer:
    return Layer(path, path.rpartition(".")[2], kind)


def _with_parents(layers: dict[str, Layer], path: str) -> Layer:
    """The layer of a path; a module that is registered nowhere, "(Tanh)", becomes one, with those
    above it."""
    if path not in layers:
        _with_parents(layers, path.rpartition(".")[0])
        layers[path] = _layer(path, path.rpartition(".")[2].strip("()"))
    return layers[path]


def _connect(layer: Layer, children: Mapping[str, list[Layer]]) -> None:
    """Gives a layer its children, and their uses to it."""
    own, layer.use = layer.use, Use()
    for child in children.get(layer.path, ()):
        _connect(child, children)
        if child.use.launches:
            layer.children.append(child)
            layer.use.add(child.use)
    if own.launches:
        if layer.children:
            layer.children.append(Layer(layer.path, OUTSIDE, use=own))
        layer.use.add(own)


def _add_remainder(root: Layer, name: str, use: Use) -> None:
    if not root.children and root.use.launches:
        own = Use()
        own.add(root.use)
        root.children.append(Layer(root.path, OUTSIDE, use=own))
    root.children.append(Layer(root.path, name, use=use))
    root.use.add(use)
