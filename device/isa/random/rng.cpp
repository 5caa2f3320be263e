#include "device/isa/random/rng.h"

#include <algorithm>

#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/isa/random/random_state.h"

namespace neuron_sim {
namespace {

using enum Rng::OperandIndex;

constexpr std::string_view kName = "rng";

constexpr auto kOperands = operand_table<Rng>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector, EngineKind::kGpSimd}, architecture);
  if (draft.engine == EngineKind::kGpSimd) {
    checks::generation("rng on GpSimd", 3, architecture);
  }
  const View& dst = draft.operand(kDst);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  if (!is_integer(dst.dtype()) || dst.dtype() == Dtype::kBool) {
    checks::dtype_error(kName, "dst", dst, "an integer of 8, 16 or 32 bits");
  }
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const int64_t count = dst.elements();
  std::vector<int64_t>& row = row_scratch().result_integers;
  row.resize(static_cast<size_t>(count));
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const uint32_t* bits = next_random_row(instance, instance.operand(kState), p, count);
    std::copy(bits, bits + count, row.begin());
    write_integer_row(dst, p, row.data());
  }
}

/// Assumed to cost as much as a copy: the vendor does not say.
Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const RateClass rate =
      draft.engine == EngineKind::kGpSimd ? RateClass::kGpSimdOneInput : RateClass::kOneInput;
  Demand result = elementwise::demand(rate, dst, {&dst});
  result.steps[0].source_psum = false;  // there is no source
  return result;
}

}  // namespace

Draft Rng::draft() const {
  const View state = random_state(engine, dst.partitions());
  Draft draft = draft_of(kRng, *this);
  draft.operands[kState] = state;
  return draft;
}

constinit const InstructionType kRng = {kName, kOperands, {},    fixed_engine<EngineKind::kVector>,
                                        check, run,       demand};

}  // namespace neuron_sim
