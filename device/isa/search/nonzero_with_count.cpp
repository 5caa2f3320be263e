#include "device/isa/search/nonzero_with_count.h"

#include <limits>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "nonzero_with_count";
constexpr int64_t kFirstGeneration = 3;
using enum NonzeroWithCount::OperandIndex;
using enum NonzeroWithCount::AttributeIndex;
// dst is read as well: most of its partitions keep their values.
constexpr auto kOperands = operand_table<NonzeroWithCount>();
constexpr auto kAttributes = attribute_table<NonzeroWithCount>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::generation(kName, kFirstGeneration, architecture);
  checks::engine(kName, draft.engine, {EngineKind::kGpSimd}, architecture);
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  checks::compute_operand(kName, "src", src, draft.engine, architecture);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  checks::same_partitions(kName, "dst", dst, "src", src);
  if (src.dtype() != Dtype::kFloat32 && src.dtype() != Dtype::kInt32) {
    checks::dtype_error(kName, "src", src, "float32 or int32");
  }
  if (dst.dtype() != Dtype::kInt32) checks::dtype_error(kName, "dst", dst, "int32");
  if (dst.free_elements() != src.free_elements() + 1) {
    fail(text("operand 'dst' of 'nonzero_with_count' (", dst.describe(), ") must have ",
              src.free_elements() + 1, " elements per partition, one more than operand 'src' (",
              src.describe(), ")."));
  }
  for (const int attribute : {kIndexOffset, kPaddingVal}) {
    const int64_t value = draft.attribute(attribute).integer();
    if (value < std::numeric_limits<int32_t>::min() ||
        value > std::numeric_limits<int32_t>::max()) {
      fail(
          text(kAttributes[attribute].name, " ", value, " of 'nonzero_with_count' exceeds int32."));
    }
  }
}

/// Fills `row` (one element longer than `values`) with places, padding and count.
template <typename Value>
void compact(const Value* values, int64_t offset, int64_t padding, std::vector<int64_t>& row) {
  const size_t count = row.size() - 1;
  size_t found = 0;
  for (size_t i = 0; i < count; ++i) {
    if (values[i] != 0) row[found++] = static_cast<int64_t>(i) + offset;
  }
  for (size_t i = found; i < count; ++i) row[i] = padding;
  row[count] = static_cast<int64_t>(found);
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& src = instance.operand(kSrc);
  const int64_t offset = instance.attribute(kIndexOffset).integer();
  const int64_t padding = instance.attribute(kPaddingVal).integer();
  RowScratch& scratch = row_scratch();
  std::vector<int64_t>& row = scratch.result_integers;
  row.resize(static_cast<size_t>(dst.elements()));
  const int64_t step = instance.architecture->limits.gpsimd_core_partitions;
  for (int64_t p = 0; p < src.partitions; p += step) {
    if (is_integer(src.dtype)) {
      compact(read_integer_row(src, p, scratch.first_integers), offset, padding, row);
    } else {
      compact(read_row(src, p, scratch.first), offset, padding, row);
    }
    write_integer_row(dst, p, row.data());
  }
}

/// No public cost: one element read and one written per element are assumed.
Demand demand(const Draft& draft, const Architecture&) {
  const View& src = draft.operand(kSrc);
  return elementwise::demand(RateClass::kGpSimdTwoInputs, src, {&draft.operand(kDst), &src});
}

}  // namespace

Draft NonzeroWithCount::draft() const { return draft_of(kNonzeroWithCount, *this); }

const InstructionType kNonzeroWithCount = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kGpSimd>, check, run, demand};

}  // namespace neuron_sim
