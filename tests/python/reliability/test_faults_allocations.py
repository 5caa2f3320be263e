"""Every allocation of C++ fails once: an error or a result, and the next call works."""

import subprocess

import pytest
from faults import run_apart
from test_faults_memory import KERNEL

FAILING = """
#include <dlfcn.h>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>
static std::atomic<long> left{-1};
extern "C" void fail_allocation(long number) { left = number; }
extern "C" long allocations_left() { return left; }
/// As where the host is out of memory; in the core as if there were no reserve.
static void fail(void* caller) {
  Dl_info info{};
  const bool by_core = dladdr(caller, &info) && std::strstr(info.dli_fname, "neuron_sim_core");
  const std::new_handler handler = std::get_new_handler();
  if (by_core || handler == nullptr) throw std::bad_alloc();
  handler();
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
def call():
    again = nki.jit(type(call)(kernel.__wrapped__.__code__, globals()))
    return again(small, repeats=20)
call()
errors, number = set(), 0
while True:
    failing.fail_allocation(number)
    word = attempt(call)
    is_over = failing.allocations_left() >= 0
    failing.fail_allocation(-1)
    errors.add(word)
    assert attempt(call) == "works", (number, word)
    if is_over: break
    number += 1
report([sorted(errors), number, bool((call() == 1).all())])
"""


@pytest.fixture(scope="module")
def failing(tmp_path_factory):
    """A library whose operator new fails when told to."""
    folder = tmp_path_factory.mktemp("failing")
    (folder / "new.cpp").write_text(FAILING)
    command = ["c++", "-O1", "-shared", "-fPIC", "-std=c++20", "-o", "new.so", "new.cpp", "-ldl"]
    subprocess.run(command, cwd=folder, check=True)
    return str(folder / "new.so")


@pytest.mark.parametrize("sanitize", ("", "1"))
def test_an_allocation_that_fails_is_a_memory_error(failing, sanitize):
    errors, allocations, right = run_apart(
        KERNEL + EACH, LD_PRELOAD=failing, NEURON_SIM_THREADS="3", NEURON_SIM_SANITIZE=sanitize
    ).result()
    assert errors == ["MemoryError: the host is out of memory.", "works"]
    assert allocations > 200 and right
