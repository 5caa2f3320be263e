#include "device/isa/movement/tensor_copy_dynamic_dst.h"

#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/isa/movement/dynamic_slice.h"

namespace neuron_sim {
namespace {

using enum TensorCopyDynamicDst::OperandIndex;

constexpr std::string_view kName = "tensor_copy_dynamic_dst";

/// dst is read as well: elements outside the slice are unchanged.
constexpr auto kOperands = operand_table<TensorCopyDynamicDst>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine,
                 {EngineKind::kVector, EngineKind::kScalar, EngineKind::kGpSimd}, architecture);
  checks::dynamic_slice(kName, "dst", draft.operand(kDst), "src", draft.operand(kSrc),
                        draft.operand(kOffset), draft.engine, architecture);
}

void run(const Instance& instance) {
  const Access& src = instance.operand(kSrc);
  const Access dst = dynamic_slice("dst", instance.operand(kDst), instance.operand(kOffset), src);
  const bool exact = elementwise::copies_bits(instance.engine, *instance.architecture);
  cast_rows(src, dst, exact);
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& src = draft.operand(kSrc);
  return dynamic_copy_demand(draft.engine, src, draft.operand(kDst), src);
}

}  // namespace

Draft TensorCopyDynamicDst::draft() const { return draft_of(kTensorCopyDynamicDst, *this); }

constinit const InstructionType kTensorCopyDynamicDst = {
    kName, kOperands, {}, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
