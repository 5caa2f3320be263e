#pragma once
// builtin_custom_op: a call of a user-supplied function.

#include <string>
#include <vector>

#include "device/instruction/fields.h"
#include "device/isa/elementwise/custom_functions.h"

namespace neuron_sim {

/// dsts = function_name(srcs), a function of the GpSimd library lib_file_name. The vendor documents
/// no semantics; here the function is one registered by register_custom_function(), with its
/// operand counts, dtypes and cost. Up to 8 operands each way, of any shapes; every element of dsts
/// is written. The two versions are stored without effect. GpSimd; SBUF.
struct BuiltinCustomOp {
  std::string function_name, lib_file_name;
  std::string ulib_to_ucode_version, ulib_to_isa_version;
  std::vector<View> srcs, dsts;

  static constexpr Direction kIn = Direction::kRead, kOut = Direction::kWrite;
  static constexpr OperandField kOperandFields[] = {
      {"src0", kIn, true},  {"src1", kIn, true},  {"src2", kIn, true},  {"src3", kIn, true},
      {"src4", kIn, true},  {"src5", kIn, true},  {"src6", kIn, true},  {"src7", kIn, true},
      {"dst0", kOut, true}, {"dst1", kOut, true}, {"dst2", kOut, true}, {"dst3", kOut, true},
      {"dst4", kOut, true}, {"dst5", kOut, true}, {"dst6", kOut, true}, {"dst7", kOut, true}};
  static constexpr AttributeField kTextFields[] = {
      {"function_name", AttributeKind::kInteger},
      {"lib_file_name", AttributeKind::kInteger},
      {"ulib_to_ucode_version", AttributeKind::kInteger},
      {"ulib_to_isa_version", AttributeKind::kInteger}};
  enum AttributeIndex { kFunctionName, kLibFileName, kUcodeVersion, kIsaVersion };
  static constexpr auto fields() {
    using T = BuiltinCustomOp;
    return std::tuple{parameter("function_name", &T::function_name).required(),
                      parameter("lib_file_name", &T::lib_file_name).required(),
                      parameter("srcs", &T::srcs).required(),
                      parameter("dsts", &T::dsts).required(),
                      parameter("ulib_to_ucode_version", &T::ulib_to_ucode_version),
                      parameter("ulib_to_isa_version", &T::ulib_to_isa_version),
                      HiddenOperands{0, kOperandFields},
                      HiddenAttributes{0, kTextFields}};
  }
  /// KernelError for more than 8 operands of a direction.
  Draft draft() const;
};

extern const InstructionType kBuiltinCustomOp;

}  // namespace neuron_sim
