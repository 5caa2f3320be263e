// Gathers, shuffles and scans of indices for Python.

#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/isa/elementwise/builtin_custom_op.h"
#include "device/isa/movement/local_gather.h"
#include "device/isa/movement/nc_n_gather.h"
#include "device/isa/movement/nc_stream_shuffle.h"
#include "device/isa/search/nonzero_with_count.h"
#include "device/isa/search/sequence_bounds.h"
#include "python_bindings/core_module/instructions/builder_instructions.h"
#include "python_bindings/core_module/instructions/names.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

void local_gather(Builder& self, const View& dst, const View& src_buffer, const View& index,
                  int64_t num_elem_per_idx, std::optional<int64_t> num_valid_indices) {
  self.emit(LocalGather{dst, src_buffer, index, num_elem_per_idx, num_valid_indices});
}

void nc_n_gather(Builder& self, const View& dst, const View& data, const View& indices) {
  self.emit(NcNGather{dst, data, indices});
}

void nc_stream_shuffle(Builder& self, const View& dst, const View& src,
                       const std::array<int64_t, 32>& shuffle_mask, const std::string& engine) {
  self.emit(NcStreamShuffle{dst, src, shuffle_mask, engine_named(engine)});
}

void nonzero_with_count(Builder& self, const View& dst, const View& src, int64_t index_offset,
                        int64_t padding_val) {
  self.emit(NonzeroWithCount{dst, src, index_offset, padding_val});
}

void sequence_bounds(Builder& self, const View& dst, const View& segment_ids) {
  self.emit(SequenceBounds{dst, segment_ids});
}

void builtin_custom_op(Builder& self, const std::string& function_name,
                       const std::string& lib_file_name, const std::vector<View>& srcs,
                       const std::vector<View>& dsts, const std::string& ulib_to_ucode_version,
                       const std::string& ulib_to_isa_version) {
  BuiltinCustomOp op;
  op.function_name = function_name;
  op.lib_file_name = lib_file_name;
  op.ulib_to_ucode_version = ulib_to_ucode_version;
  op.ulib_to_isa_version = ulib_to_isa_version;
  op.srcs = srcs;
  op.dsts = dsts;
  self.emit(op);
}

}  // namespace

void bind_gathers(nb::class_<Builder>& builder) {
  builder
      .def("local_gather", &local_gather, nb::arg("dst"), nb::arg("src_buffer"), nb::arg("index"),
           nb::arg("num_elem_per_idx") = 1, nb::arg("num_valid_indices") = nb::none())
      .def("nc_n_gather", &nc_n_gather, nb::arg("dst"), nb::arg("data"), nb::arg("indices"))
      .def("nc_stream_shuffle", &nc_stream_shuffle, nb::arg("dst"), nb::arg("src"),
           nb::arg("shuffle_mask"), nb::arg("engine") = "auto",
           "dst[32 q + i] = src[32 q + shuffle_mask[i]]; 32 entries, 255 leaves dst unchanged.")
      .def("nonzero_with_count", &nonzero_with_count, nb::arg("dst"), nb::arg("src"),
           nb::arg("index_offset") = 0, nb::arg("padding_val") = -1)
      .def("sequence_bounds", &sequence_bounds, nb::arg("dst"), nb::arg("segment_ids"))
      .def("builtin_custom_op", &builtin_custom_op, nb::arg("function_name"),
           nb::arg("lib_file_name"), nb::arg("srcs"), nb::arg("dsts"),
           nb::arg("ulib_to_ucode_version") = "", nb::arg("ulib_to_isa_version") = "");
}

}  // namespace neuron_sim
