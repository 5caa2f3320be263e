// dma_copy, dma_transpose, dma_compute, memset, iota for Python.

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/isa/dma/dma_compute.h"
#include "device/isa/dma/dma_copy.h"
#include "device/isa/dma/dma_transpose.h"
#include "device/isa/movement/iota.h"
#include "device/isa/movement/memset.h"
#include "python_bindings/core_module/instructions/builder_instructions.h"
#include "python_bindings/core_module/instructions/names.h"
#include "python_bindings/core_module/instructions/operand_arguments.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

void dma_copy(Builder& self, const View& dst, const View& src, const View* index,
              const std::string& engine, const std::string& descriptors, bool dst_rmw_add,
              const std::string& oob_mode, bool unique_indices, std::optional<int64_t> priority) {
  DmaCopy copy{dst, src};
  copy.index = view_or_absent(index);
  copy.engine = engine_named(engine);
  copy.descriptors = descriptors_named(descriptors);
  copy.dst_rmw_add = dst_rmw_add;
  copy.oob_skip = skips_out_of_bounds(oob_mode);
  copy.unique_indices = unique_indices;
  copy.priority = priority;
  self.emit(copy);
}

void dma_transpose(Builder& self, const View& dst, const View& src,
                   const std::optional<std::vector<int>>& axes, const std::string& engine,
                   const std::string& descriptors, const View* index, const std::string& oob_mode,
                   std::optional<int64_t> priority) {
  DmaTranspose transpose{dst, src};
  if (axes) transpose.axes = *axes;
  transpose.engine = engine_named(engine);
  transpose.descriptors = descriptors_named(descriptors);
  transpose.index = view_or_absent(index);
  transpose.oob_skip = skips_out_of_bounds(oob_mode);
  transpose.priority = priority;
  self.emit(transpose);
}

void dma_compute(Builder& self, const View& dst, const std::vector<View>& srcs,
                 const std::string& reduce_op, const std::optional<std::vector<double>>& scales,
                 const std::string& engine, bool unique_indices, const std::string& oob_mode,
                 const View* index) {
  DmaCompute compute;
  compute.dst = dst;
  compute.srcs = srcs;
  compute.reduce_op = operator_named(reduce_op);
  if (scales) compute.scales = *scales;
  compute.unique_indices = unique_indices;
  compute.oob_skip = skips_out_of_bounds(oob_mode);
  compute.index = view_or_absent(index);
  compute.engine = engine_named(engine);
  self.emit(compute);
}

void memset(Builder& self, const View& dst, double value, const std::string& engine) {
  self.emit(Memset{dst, value, engine_named(engine)});
}

void iota(Builder& self, const View& dst, const IndexPattern& pattern, int64_t offset,
          int64_t channel_multiplier, const std::string& engine) {
  self.emit(Iota{dst, pattern, offset, channel_multiplier, engine_named(engine)});
}

}  // namespace

void bind_movement(nb::class_<Builder>& builder) {
  builder
      .def("dma_copy", &dma_copy, nb::arg("dst"), nb::arg("src"), nb::arg("index") = nb::none(),
           nb::arg("engine") = "auto", nb::arg("descriptors") = "auto",
           nb::arg("dst_rmw_add") = false, nb::arg("oob_mode") = "error",
           nb::arg("unique_indices") = true, nb::arg("priority") = nb::none(),
           "index: rows of the indirect view among dst and src; descriptors: static, hardware, "
           "software; oob_mode: error, skip.")
      .def("dma_transpose", &dma_transpose, nb::arg("dst"), nb::arg("src"),
           nb::arg("axes") = nb::none(), nb::arg("engine") = "auto",
           nb::arg("descriptors") = "auto", nb::arg("index") = nb::none(),
           nb::arg("oob_mode") = "error", nb::arg("priority") = nb::none())
      .def("dma_compute", &dma_compute, nb::arg("dst"), nb::arg("srcs"),
           nb::arg("reduce_op") = "add", nb::arg("scales") = nb::none(), nb::arg("engine") = "auto",
           nb::arg("unique_indices") = true, nb::arg("oob_mode") = "error",
           nb::arg("index") = nb::none())
      .def("memset", &memset, nb::arg("dst"), nb::arg("value"), nb::arg("engine") = "auto")
      .def("iota", &iota, nb::arg("dst"), nb::arg("pattern"), nb::arg("offset") = 0,
           nb::arg("channel_multiplier") = 0, nb::arg("engine") = "auto");
}

}  // namespace neuron_sim
