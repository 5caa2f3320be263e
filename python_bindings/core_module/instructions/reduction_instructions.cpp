// Reductions, statistics and searches for Python.

#include <nanobind/stl/string.h>

#include "device/base/errors.h"
#include "device/isa/reduction/bn_aggr.h"
#include "device/isa/reduction/bn_stats.h"
#include "device/isa/reduction/tensor_partition_reduce.h"
#include "device/isa/reduction/tensor_scalar_cumulative.h"
#include "device/isa/reduction/tensor_scalar_reduce.h"
#include "device/isa/search/max8.h"
#include "device/isa/search/nc_find_index8.h"
#include "device/isa/search/nc_match_replace8.h"
#include "device/isa/search/topk.h"
#include "python_bindings/core_module/instructions/builder_instructions.h"
#include "python_bindings/core_module/instructions/names.h"
#include "python_bindings/core_module/instructions/operand_arguments.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

void tensor_scalar_reduce(Builder& self, const View& dst, const View& data, const std::string& op0,
                          const nb::object& operand0, const std::string& reduce_op,
                          const View* reduce_res, bool reverse0, const std::string& reduce_cmd,
                          const nb::object& reduce_init, bool reduce_res_negate,
                          const std::string& engine) {
  TensorScalarReduce reduce{dst, data};
  reduce.op0 = operator_named(op0);
  set_operand("operand0", operand0, reduce.operand0, reduce.constant0);
  reduce.reduce_op = operator_named(reduce_op);
  reduce.reduce_res = view_or_absent(reduce_res);
  reduce.reverse0 = reverse0;
  reduce.reduce_command = reduce_command_named(reduce_cmd);
  set_operand("reduce_init", reduce_init, reduce.reduce_init, reduce.constant_init);
  reduce.reduce_res_negate = reduce_res_negate;
  reduce.engine = engine_named(engine);
  self.emit(reduce);
}

void tensor_scalar_cumulative(Builder& self, const View& dst, const View& src,
                              const std::string& op0, const std::string& op1,
                              const nb::object& imm0, const nb::object& imm1,
                              const std::string& reduce_cmd, const std::string& engine) {
  TensorScalarCumulative cumulative{dst, src};
  cumulative.op0 = operator_named(op0);
  cumulative.op1 = operator_named(op1);
  set_operand("imm0", imm0, cumulative.imm0, cumulative.constant0);
  set_operand("imm1", imm1, cumulative.imm1, cumulative.constant1);
  cumulative.reduce_command = reduce_command_named(reduce_cmd);
  cumulative.engine = engine_named(engine);
  self.emit(cumulative);
}

PartitionReduction partition_reduction_named(const std::string& op) {
  for (const PartitionReduction reduction :
       {PartitionReduction::kAdd, PartitionReduction::kAverage, PartitionReduction::kMaximum,
        PartitionReduction::kBitwiseOr, PartitionReduction::kBitwiseAnd}) {
    if (name(reduction) == op) return reduction;
  }
  if (op == "max") return PartitionReduction::kMaximum;
  fail(text("op '", op,
            "' of 'tensor_partition_reduce' is unknown; allowed: add, average, maximum, ",
            "bitwise_or, bitwise_and."));
}

void tensor_partition_reduce(Builder& self, const View& dst, const std::string& op,
                             const View& data) {
  self.emit(TensorPartitionReduce{dst, partition_reduction_named(op), data});
}

void bn_stats(Builder& self, const View& dst, const View& data, const std::string& engine) {
  self.emit(BnStats{dst, data, engine_named(engine)});
}

void bn_aggr(Builder& self, const View& dst, const View& data, const std::string& engine) {
  self.emit(BnAggr{dst, data, engine_named(engine)});
}

void max8(Builder& self, const View& dst, const View& src) { self.emit(Max8{dst, src}); }

void nc_find_index8(Builder& self, const View& dst, const View& data, const View& vals) {
  self.emit(NcFindIndex8{dst, data, vals});
}

void nc_match_replace8(Builder& self, const View& dst, const View& data, const View& vals,
                       double imm, const View* dst_idx) {
  self.emit(NcMatchReplace8{dst, data, vals, imm, view_or_absent(dst_idx)});
}

void topk(Builder& self, const View& val_dst, const View& idx_dst, const View& src, int64_t n) {
  self.emit(Topk{val_dst, idx_dst, src, n});
}

}  // namespace

void bind_reductions(nb::class_<Builder>& builder) {
  builder
      .def("tensor_scalar_reduce", &tensor_scalar_reduce, nb::arg("dst"), nb::arg("data"),
           nb::arg("op0"), nb::arg("operand0").none(), nb::arg("reduce_op"),
           nb::arg("reduce_res") = nb::none(), nb::arg("reverse0") = false,
           nb::arg("reduce_cmd") = "reset_reduce", nb::arg("reduce_init") = nb::none(),
           nb::arg("reduce_res_negate") = false, nb::arg("engine") = "auto")
      .def("tensor_scalar_cumulative", &tensor_scalar_cumulative, nb::arg("dst"), nb::arg("src"),
           nb::arg("op0"), nb::arg("op1"), nb::arg("imm0").none(), nb::arg("imm1") = nb::none(),
           nb::arg("reduce_cmd") = "reset_reduce", nb::arg("engine") = "auto",
           "dst[i] = (src[i] op0 imm0) op1 dst[i - 1].")
      .def("tensor_partition_reduce", &tensor_partition_reduce, nb::arg("dst"), nb::arg("op"),
           nb::arg("data"), "op: add, average, maximum, bitwise_or, bitwise_and.")
      .def("bn_stats", &bn_stats, nb::arg("dst"), nb::arg("data"), nb::arg("engine") = "auto")
      .def("bn_aggr", &bn_aggr, nb::arg("dst"), nb::arg("data"), nb::arg("engine") = "auto")
      .def("max8", &max8, nb::arg("dst"), nb::arg("src"))
      .def("nc_find_index8", &nc_find_index8, nb::arg("dst"), nb::arg("data"), nb::arg("vals"))
      .def("nc_match_replace8", &nc_match_replace8, nb::arg("dst"), nb::arg("data"),
           nb::arg("vals"), nb::arg("imm"), nb::arg("dst_idx") = nb::none())
      .def("topk", &topk, nb::arg("val_dst"), nb::arg("idx_dst"), nb::arg("src"), nb::arg("n"));
}

}  // namespace neuron_sim
