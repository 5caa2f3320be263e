#pragma once
// builtin_custom_op: a call of a function that the user brings.

#include <string>
#include <vector>

#include "device/isa/elementwise/custom_functions.h"

namespace neuron_sim {

/// dsts = function_name(srcs), a function of the GpSimd library lib_file_name. The vendor documents
/// no semantics; here the function is one that register_custom_function() made known, with its
/// operand counts, dtypes and cost. Up to 8 operands each way, of any shapes; every element of dsts
/// is written. The two versions are carried along and mean nothing. GpSimd; SBUF.
struct BuiltinCustomOp {
  std::string function_name, lib_file_name;
  std::string ulib_to_ucode_version, ulib_to_isa_version;
  std::vector<View> srcs, dsts;

  /// KernelError for more than 8 operands of a direction.
  Draft draft() const;
};

extern const InstructionType kBuiltinCustomOp;

}  // namespace neuron_sim
