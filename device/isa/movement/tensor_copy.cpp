#include "device/isa/movement/tensor_copy.h"

#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

using enum TensorCopy::OperandIndex;

constexpr std::string_view kName = "tensor_copy";

constexpr auto kOperands = operand_table<TensorCopy>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine,
                 {EngineKind::kVector, EngineKind::kScalar, EngineKind::kGpSimd}, architecture);
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  // Packed values can be copied unchanged, not converted.
  const bool bits =
      src.dtype() == dst.dtype() && elementwise::copies_bits(draft.engine, architecture);
  const auto check_operand = bits ? checks::movable_operand : checks::compute_operand;
  check_operand(kName, "src", src, draft.engine, architecture);
  check_operand(kName, "dst", dst, draft.engine, architecture);
  checks::same_partitions(kName, "dst", dst, "src", src);
  checks::same_free_elements(kName, "dst", dst, "src", src);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& src = instance.operand(kSrc);
  const bool exact = elementwise::copies_bits(instance.engine, *instance.architecture);
  cast_rows(src, dst, exact);
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  return elementwise::demand(elementwise::one_source_rate(draft.engine, src, dst), src,
                             {&dst, &src});
}

}  // namespace

Draft TensorCopy::draft() const { return draft_of(kTensorCopy, *this); }

constinit const InstructionType kTensorCopy = as_stackable(
    as_elementwise({kName, kOperands, {}, fixed_engine<EngineKind::kVector>, check, run, demand}));

}  // namespace neuron_sim
