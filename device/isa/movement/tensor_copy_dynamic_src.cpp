#include "device/isa/movement/tensor_copy_dynamic_src.h"

#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/isa/movement/dynamic_slice.h"

namespace neuron_sim {
namespace {

using enum TensorCopyDynamicSrc::OperandIndex;

constexpr std::string_view kName = "tensor_copy_dynamic_src";

constexpr auto kOperands = operand_table<TensorCopyDynamicSrc>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine,
                 {EngineKind::kVector, EngineKind::kScalar, EngineKind::kGpSimd}, architecture);
  checks::dynamic_slice(kName, "src", draft.operand(kSrc), "dst", draft.operand(kDst),
                        draft.operand(kOffset), draft.engine, architecture);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access src = dynamic_slice("src", instance.operand(kSrc), instance.operand(kOffset), dst);
  const bool exact = elementwise::copies_bits(instance.engine, *instance.architecture);
  cast_rows(src, dst, exact);
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  return dynamic_copy_demand(draft.engine, draft.operand(kSrc), dst, dst);
}

}  // namespace

Draft TensorCopyDynamicSrc::draft() const { return draft_of(kTensorCopyDynamicSrc, *this); }

constinit const InstructionType kTensorCopyDynamicSrc = {
    kName, kOperands, {}, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
