#include "device/isa/search/sequence_bounds.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "sequence_bounds";
using enum SequenceBounds::OperandIndex;
constexpr auto kOperands = operand_table<SequenceBounds>();

void check_operand(std::string_view operand, const View& view, const Draft& draft,
                   const Architecture& architecture) {
  checks::compute_operand(kName, operand, view, draft.engine, architecture);
  if (view.partitions() != 1) {
    fail(text("operand '", operand, "' of 'sequence_bounds' is ", view.describe(),
              ", but must have one partition."));
  }
  if (view.dtype() != Dtype::kFloat32 && view.dtype() != Dtype::kInt32) {
    checks::dtype_error(kName, operand, view, "float32 or int32");
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kGpSimd}, architecture);
  const View& dst = draft.operand(kDst);
  const View& ids = draft.operand(kSegmentIds);
  check_operand("segment_ids", ids, draft, architecture);
  check_operand("dst", dst, draft, architecture);
  const int64_t count = ids.free_elements();
  if (dst.rank() == 3 && dst.size(1) == 2 && dst.size(2) == count) return;
  fail(text("operand 'dst' of 'sequence_bounds' is ", dst.describe(), ", but must be [1, 2, ",
            count, "] for operand 'segment_ids' (", ids.describe(), ")."));
}

/// Starts of all elements, then ends.
template <typename Id>
void find_bounds(const Id* ids, int64_t count, int64_t* starts, int64_t* ends) {
  for (int64_t i = 0; i < count; ++i) {
    const bool joins = i > 0 && ids[i] == ids[i - 1];
    starts[i] = ids[i] == 0 ? count : joins ? starts[i - 1] : i;
  }
  for (int64_t i = count - 1; i >= 0; --i) {
    const bool joins = i + 1 < count && ids[i] == ids[i + 1];
    ends[i] = ids[i] == 0 ? -1 : joins ? ends[i + 1] : i + 1;
  }
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& ids = instance.operand(kSegmentIds);
  const int64_t count = ids.elements();
  RowScratch& scratch = row_scratch();
  std::vector<int64_t>& bounds = scratch.result_integers;
  bounds.resize(static_cast<size_t>(2 * count));
  if (is_integer(ids.dtype)) {
    find_bounds(read_integer_row(ids, 0, scratch.first_integers), count, bounds.data(),
                bounds.data() + count);
  } else {
    find_bounds(read_row(ids, 0, scratch.first), count, bounds.data(), bounds.data() + count);
  }
  if (is_integer(dst.dtype)) return write_integer_row(dst, 0, bounds.data());
  scratch.result.assign(bounds.begin(), bounds.end());  // exact: fewer than 2^24 elements
  write_row(dst, 0, scratch.result.data());
}

/// No public cost: one pass for the starts and one for the ends are assumed.
Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  return elementwise::demand(RateClass::kGpSimdOneInput, dst, {&dst, &draft.operand(kSegmentIds)});
}

}  // namespace

Draft SequenceBounds::draft() const { return draft_of(kSequenceBounds, *this); }

const InstructionType kSequenceBounds = {kName, kOperands, {},    fixed_engine<EngineKind::kGpSimd>,
                                         check, run,       demand};

}  // namespace neuron_sim
