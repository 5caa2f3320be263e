// nc_matmul, nc_matmul_mx, quantize_mx and nc_transpose for Python.

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "device/isa/tensor/nc_matmul.h"
#include "device/isa/tensor/nc_matmul_mx.h"
#include "device/isa/tensor/nc_transpose.h"
#include "device/isa/tensor/quantize_mx.h"
#include "python_bindings/core_module/instructions/builder_instructions.h"
#include "python_bindings/core_module/instructions/names.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

using ArrayPart = std::optional<RowsColumns>;

void nc_matmul(Builder& self, const View& dst, const View& stationary, const View& moving,
               std::optional<bool> accumulate, bool is_transpose, bool is_stationary_onezero,
               bool is_moving_onezero, const ArrayPart& tile_position, const ArrayPart& tile_size,
               const std::string& perf_mode) {
  NcMatmul matmul{dst, stationary, moving, accumulate};
  matmul.is_transpose = is_transpose;
  matmul.is_stationary_onezero = is_stationary_onezero;
  matmul.is_moving_onezero = is_moving_onezero;
  matmul.tile_position = tile_position;
  matmul.tile_size = tile_size;
  matmul.perf_mode = performance_mode_named(perf_mode);
  self.emit(matmul);
}

void nc_matmul_mx(Builder& self, const View& dst, const View& stationary, const View& moving,
                  const View& stationary_scale, const View& moving_scale,
                  const ArrayPart& tile_position, const ArrayPart& tile_size,
                  std::optional<bool> accumulate) {
  self.emit(NcMatmulMx{dst, stationary, moving, stationary_scale, moving_scale, tile_position,
                       tile_size, accumulate});
}

void quantize_mx(Builder& self, const View& dst, const View& src, const View& dst_scale) {
  self.emit(QuantizeMx{dst, src, dst_scale});
}

void nc_transpose(Builder& self, const View& dst, const View& data, const std::string& engine) {
  self.emit(NcTranspose{dst, data, engine_named(engine)});
}

}  // namespace

void bind_tensor_engine(nb::class_<Builder>& builder) {
  builder
      .def(
          "nc_matmul", &nc_matmul, nb::arg("dst"), nb::arg("stationary"), nb::arg("moving"),
          nb::arg("accumulate") = nb::none(), nb::arg("is_transpose") = false,
          nb::arg("is_stationary_onezero") = false, nb::arg("is_moving_onezero") = false,
          nb::arg("tile_position") = nb::none(), nb::arg("tile_size") = nb::none(),
          nb::arg("perf_mode") = "none",
          "dst (+)= stationary.T @ moving; accumulate None: the first write overwrites. "
          "tile_position, tile_size: (rows, columns) of the PE array; perf_mode: none, double_row.")
      .def("nc_matmul_mx", &nc_matmul_mx, nb::arg("dst"), nb::arg("stationary"), nb::arg("moving"),
           nb::arg("stationary_scale"), nb::arg("moving_scale"),
           nb::arg("tile_position") = nb::none(), nb::arg("tile_size") = nb::none(),
           nb::arg("accumulate") = nb::none(),
           "dst (+)= (stationary * stationary_scale).T @ (moving * moving_scale), four values per "
           "element.")
      .def("quantize_mx", &quantize_mx, nb::arg("dst"), nb::arg("src"), nb::arg("dst_scale"),
           "dst = src / X, dst_scale = X: one power of two per group of 8 partitions x 4 elements.")
      .def("nc_transpose", &nc_transpose, nb::arg("dst"), nb::arg("data"),
           nb::arg("engine") = "auto");
}

}  // namespace neuron_sim
