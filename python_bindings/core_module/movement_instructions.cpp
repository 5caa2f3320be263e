// dma_copy, dma_transpose, dma_compute, memset, iota for Python.

#include <nanobind/stl/array.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/isa/dma_compute.h"
#include "device/isa/dma_copy.h"
#include "device/isa/dma_transpose.h"
#include "device/isa/iota.h"
#include "device/isa/memset.h"
#include "python_bindings/core_module/builder_instructions.h"
#include "python_bindings/core_module/names.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

void dma_copy(Builder& self, const View& dst, const View& src, const View& index,
              const std::string& engine, const std::string& descriptors, bool dst_rmw_add) {
  DmaCopy copy{dst, src};
  copy.index = index;
  copy.engine = engine_named(engine);
  copy.descriptors = descriptors_named(descriptors);
  copy.dst_rmw_add = dst_rmw_add;
  self.emit(copy);
}

void dma_transpose(Builder& self, const View& dst, const View& src, const std::vector<int>& axes,
                   const std::string& engine, const std::string& descriptors) {
  DmaTranspose transpose{dst, src};
  transpose.axes = axes;
  transpose.engine = engine_named(engine);
  transpose.descriptors = descriptors_named(descriptors);
  self.emit(transpose);
}

void dma_compute(Builder& self, const View& dst, const std::vector<View>& srcs,
                 const std::string& reduce_op, const std::vector<double>& scales,
                 const std::string& engine) {
  DmaCompute compute;
  compute.dst = dst;
  compute.srcs = srcs;
  compute.reduce_op = operator_named(reduce_op);
  compute.scales = scales;
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
      .def("dma_copy", &dma_copy, nb::arg("dst"), nb::arg("src"), nb::arg("index") = View{},
           nb::arg("engine") = "auto", nb::arg("descriptors") = "auto",
           nb::arg("dst_rmw_add") = false)
      .def("dma_transpose", &dma_transpose, nb::arg("dst"), nb::arg("src"),
           nb::arg("axes") = std::vector<int>{}, nb::arg("engine") = "auto",
           nb::arg("descriptors") = "auto")
      .def("dma_compute", &dma_compute, nb::arg("dst"), nb::arg("srcs"),
           nb::arg("reduce_op") = "add", nb::arg("scales") = std::vector<double>{},
           nb::arg("engine") = "auto")
      .def("memset", &memset, nb::arg("dst"), nb::arg("value"), nb::arg("engine") = "auto")
      .def("iota", &iota, nb::arg("dst"), nb::arg("pattern"), nb::arg("offset") = 0,
           nb::arg("channel_multiplier") = 0, nb::arg("engine") = "auto");
}

}  // namespace neuron_sim
