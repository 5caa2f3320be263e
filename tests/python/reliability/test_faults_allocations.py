"""Every allocation of C++ fails once: an error or a result, and the next call works."""

import subprocess

import pytest
from faults import run_apart
from test_faults_memory import KERNEL, LIMITED

FAILING = """
#include <dlfcn.h>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
static std::atomic<long> left{-1};
extern "C" void fail_allocation(long number) { left = number; }
extern "C" long allocations_left() { return left; }
/// As where the host is out of memory; in the simulator's libraries as if there were no reserve.
static void fail(void* caller) {
  Dl_info info{};
  if (dladdr(caller, &info) == 0) return;
  if ((std::strstr(info.dli_fname, "/libneuron_sim_core") ||
                                     std::strstr(info.dli_fname, "/libtorch_neuron_sim"))) {
    throw std::bad_alloc();
  }
  // Functions of others that may not throw are not ours to mend.
  const std::new_handler handler = std::get_new_handler();
  if (std::strstr(info.dli_fname, "/_core.") && handler != nullptr) handler();
}
void* operator new(std::size_t bytes) {
  if (left >= 0 && left-- == 0) fail(__builtin_return_address(0));
  if (void* made = std::malloc(bytes == 0 ? 1 : bytes)) return made;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
"""

EACH = """
import ctypes
failing = ctypes.CDLL(None)
failing.fail_allocation.argtypes, failing.allocations_left.restype = [ctypes.c_long], ctypes.c_long
def attempts(call):
    errors, number = set(), 0
    while True:
        failing.fail_allocation(number)
        word = attempt(call)
        is_over = failing.allocations_left() >= 0
        failing.fail_allocation(-1)
        errors.add(word)
        assert attempt(call) == "works", (number, word)
        if is_over: return errors, number
        number += 1
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A library whose operator new fails when told to."""
    folder = tmp_path_factory.mktemp("failing")
    (folder / "new.cpp").write_text(FAILING)
    command = ["c++", "-O1", "-shared", "-fPIC", "-std=c++20", "-o", "new.so", "new.cpp", "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    return str(folder / "new.so")


TRACED = """
def call():
    again = nki.jit(type(call)(kernel.__wrapped__.__code__, globals()))
    return again(small, repeats=20)
call()
errors, number = attempts(call)
report([sorted(errors), number, bool((call() == 1).all())])
"""


@pytest.mark.parametrize("sanitize", ("", "1"))
def test_an_allocation_that_fails_is_a_memory_error(failing, sanitize):
    errors, allocations, right = run_apart(
        KERNEL + EACH + TRACED,
        LD_PRELOAD=failing, NEURON_SIM_THREADS="3", NEURON_SIM_SANITIZE=sanitize,
    ).result()  # fmt: skip
    assert errors == ["MemoryError: the host is out of memory.", "works"]
    assert allocations > 200 and right


OPERATORS = """
import itertools, torch
sizes = itertools.cycle(range(40, 50))
def random(): return torch.randn(next(sizes), 48, device="neuron_sim")
x, w = random(), torch.randn(48, 32, device="neuron_sim", requires_grad=True)
calls = [lambda: (x @ w).sum().backward(), lambda: (random() + 1).softmax(1), lambda: x.sort()]
for each in calls: each()
expected = x.cpu().sum()
found = [attempts(each) for each in calls]
report([sorted(set().union(*(errors for errors, _ in found))), sum(n for _, n in found),
        bool(torch.allclose(x.sum().cpu(), expected, atol=1e-3))])
"""


@pytest.mark.torch
def test_an_allocation_of_an_operator_that_fails_is_an_error(failing):
    code = LIMITED + EACH.replace("import ctypes", "import torch, ctypes") + OPERATORS
    errors, allocations, right = run_apart(code, LD_PRELOAD=failing).result()
    assert "works" in errors
    assert all(each.startswith("RuntimeError: neuron_sim: the host is out of memory")
               for each in set(errors) - {"works"}), errors  # fmt: skip
    assert any(" for operator 'aten::" in each and "self [4" in each for each in errors), errors
    assert allocations > 50 and right
