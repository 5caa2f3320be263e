"""The trees of code objects: which function, which node at a position, which names in what order"""

import ast
import functools
import sys

import pytest
from neuron_sim.nki.syntax.names import outer_uses, uses_within
from neuron_sim.nki.syntax.source import syntax_at, syntax_of

first, second = (lambda a: a + 1), (lambda a: a + 2)
nested = lambda: lambda: first  # noqa: E731


@functools.lru_cache
def decorated():
    return [lambda a: a, *(lambda b: b for _ in range(1))]


def same_name():
    return 1


earlier = same_name


def same_name():
    return 2


class Holder:
    @property
    def method(self):
        assert self is not None
        return 3


@pytest.mark.parametrize(("function", "body"), [
    (first, "a + 1"), (second, "a + 2"), (nested, "lambda: first"), (nested(), "first"),
    (decorated.__wrapped__, "return [lambda a: a, *(lambda b: b for _ in range(1))]"),
    (decorated()[0], "a"), (decorated()[1], "b"), (earlier, "return 1"), (same_name, "return 2"),
])  # fmt: skip
def test_the_tree_is_that_of_the_very_function(function, body):
    syntax = syntax_of(function.__code__)
    of_function = syntax.function.body
    last = of_function[-1] if isinstance(of_function, list) else of_function
    assert syntax.is_exact and ast.unparse(last) == body


def test_assertions_that_pytest_has_rewritten_do_not_hide_a_function():
    syntax = syntax_of(Holder.method.fget.__code__)
    assert ast.unparse(syntax.function.body[1]) == "return 3" and not syntax.is_exact


class Recorder:
    """Records the text of the node that runs while one of its operations does."""

    def __init__(self):
        self.seen = []

    def __getattr__(self, name):
        def method(*args, **keywords):
            self.seen.append(ast.unparse(syntax_at(sys._getframe(1))[1]))
            return self

        return method

    def __lt__(self, other):
        self.seen.append(ast.unparse(syntax_at(sys._getframe(1))[1]))
        return self

    __add__ = __iadd__ = __getitem__ = __lt__

    def __bool__(self):
        self.seen.append(ast.unparse(syntax_at(sys._getframe(1))[1]))
        return True


def test_a_position_is_that_of_the_node_that_runs():
    def run(r):
        x = (r
             .load(1)
             .store(key=2,
                    other=3))  # fmt: skip
        if x < r[0]:
            x += r + 1
        return x and [r.load(i) for i in (7,)][0]

    recorder = Recorder()
    run(recorder)
    load, store, *others = recorder.seen
    assert (load, store) == ("r.load(1)", "r.load(1).store(key=2, other=3)")
    assert others == ["r[0]", "x < r[0]", "x < r[0]", "r + 1", "x += r + 1",
                      "x and [r.load(i) for i in (7,)][0]", "r.load(i)"]  # fmt: skip


BODIES = {
    "x = y": "y x=", "x += y": "x y x=", "x: T = y": "y x=", "del x": "x=", "(x := y)": "y x=",
    "for x in y: z": "y x= z", "with x as y: z": "x y= z", "import a.b, c as d": "a= d=",
    "try: x\nexcept y as z: w\nfinally: v": "x y z= w v", "x.a[y] = z": "z x y",
    "[x + y for x in z if w]": "z w y", "{x: (v := y) for x in z}": "z y v=",
    "match x:\n  case {'k': y, **z} if w: v": "x y= z= w v", "f'{x!r:{y}}' % z": "x y z",
    "def x(a=y): z; a; b = 1": "y z x=", "lambda a, *b: (a, b, c)": "c",
    "def x():\n  global y\n  nonlocal z\n  y = z = w": "w y= z= x=",
    "class X(y):\n  a = b\n  def f(self): return a, z": "y b a z X=",
    "async def x():\n  async for y in z: pass": "z x=",
}  # fmt: skip


@pytest.mark.parametrize("body", BODIES)
def test_names_come_in_the_order_in_which_python_uses_them(body):
    text = "\n".join(f"  {line}" for line in f"z = 0\n{body}".splitlines())
    function = ast.parse(f"def outer():\n def f():\n{text}").body[0].body[0]
    found = [each.name + "=" * each.stores for each in uses_within(function)][1:]
    assert found == BODIES[body].split()


def test_names_of_outer_scopes_are_told_from_own_ones():
    text = "def f(a, *b, c=d):\n global g\n e = a, b, c, g\n return lambda e: e + h + i"
    found = outer_uses(ast.parse(text).body[0])
    assert [(each.name, each.declared) for each in found] == [("g", "global"), ("h", ""), ("i", "")]
