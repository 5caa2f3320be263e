// Registers, and what the two cores of a logical core say to each other, for Python.

#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/base/errors.h"
#include "device/isa/dma/sendrecv.h"
#include "device/isa/sequencing/core_barrier.h"
#include "device/isa/sequencing/register_alloc.h"
#include "device/isa/sequencing/register_load.h"
#include "device/isa/sequencing/register_move.h"
#include "device/isa/sequencing/register_store.h"
#include "python_bindings/core_module/instructions/builder_instructions.h"
#include "python_bindings/core_module/instructions/names.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

DmaEngine dma_engine_named(const std::string& name) {
  if (name == "dma") return DmaEngine::kDma;
  if (name == "gpsimd_dma") return DmaEngine::kGpSimdDma;
  fail(text("dma_engine '", name, "' is unknown; allowed: dma, gpsimd_dma."));
}

void core_barrier(Builder& self, const View& data, const std::vector<int64_t>& cores,
                  const std::string& engine) {
  self.emit(CoreBarrier{data, cores, engine_named(engine)});
}

void sendrecv(Builder& self, const View& src, const View& dst, int64_t send_to_rank,
              int64_t recv_from_rank, int64_t pipe_id, const std::string& dma_engine,
              const std::string& engine) {
  self.emit(SendRecv{src, dst, send_to_rank, recv_from_rank, pipe_id, dma_engine_named(dma_engine),
                     engine_named(engine)});
}

/// The register that holds x from here on: `dst`, or a fresh one when that is negative.
int register_alloc(Builder& self, const nb::object& x, const std::string& engine, int dst) {
  RegisterAlloc instruction;
  instruction.engine = engine_named(engine);
  int64_t number = 0;
  if (nb::isinstance<View>(x)) {
    instruction.x = nb::cast<View>(x);
  } else if (nb::try_cast(x, number)) {
    instruction.x_constant = number;
  } else if (!x.is_none()) {
    fail(text("parameter 'x' of 'register_alloc' is ", nb::repr(x).c_str(),
              ", not an int, a tensor or None."),
         ErrorKind::kType);
  }
  const int result = dst >= 0 ? dst : self.allocate_register();
  instruction.dst = result;
  self.emit(instruction);
  return result;
}

void register_move(Builder& self, int64_t dst, int64_t src, int64_t src_register,
                   const std::string& engine) {
  self.emit(RegisterMove{dst, src, src_register, engine_named(engine)});
}

void register_load(Builder& self, int64_t dst, const View& src, const std::string& engine) {
  self.emit(RegisterLoad{dst, src, engine_named(engine)});
}

void register_store(Builder& self, const View& dst, int64_t src, const std::string& engine) {
  self.emit(RegisterStore{dst, src, engine_named(engine)});
}

}  // namespace

void bind_sequencer(nb::class_<Builder>& builder) {
  builder
      .def("core_barrier", &core_barrier, nb::arg("data"),
           nb::arg("cores") = std::vector<int64_t>{0, 1}, nb::arg("engine") = "auto")
      .def("sendrecv", &sendrecv, nb::arg("src"), nb::arg("dst"), nb::arg("send_to_rank"),
           nb::arg("recv_from_rank"), nb::arg("pipe_id") = 0, nb::arg("dma_engine") = "dma",
           nb::arg("engine") = "auto")
      .def(
          "register_alloc", &register_alloc, nb::arg("x") = nb::none(), nb::arg("engine") = "auto",
          nb::arg("dst") = -1,
          "A fresh register, or dst, that holds x: an int, the one element of a tensor, or what it "
          "held.")
      .def("register_move", &register_move, nb::arg("dst"), nb::arg("src") = 0,
           nb::arg("src_register") = -1, nb::arg("engine") = "auto",
           "register[dst] = src, or register[src_register] if that is given.")
      .def("register_load", &register_load, nb::arg("dst"), nb::arg("src"),
           nb::arg("engine") = "auto")
      .def("register_store", &register_store, nb::arg("dst"), nb::arg("src"),
           nb::arg("engine") = "auto", "dst = register[src].");
}

}  // namespace neuron_sim
