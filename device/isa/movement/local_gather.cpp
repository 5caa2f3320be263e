#include "device/isa/movement/local_gather.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/pattern.h"
#include "device/instruction/rows.h"
#include "device/isa/movement/gather.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "local_gather";
using enum LocalGather::OperandIndex;
using enum LocalGather::AttributeIndex;
constexpr auto kOperands = operand_table<LocalGather>();
constexpr auto kAttributes = attribute_table<LocalGather>();
// num_valid_indices of a Draft that takes all entries of a slice.
constexpr int64_t kAll = INT64_MIN;

int64_t valid_indices(int64_t attribute, int64_t index_elements, const Architecture& architecture) {
  return attribute == kAll ? architecture.limits.gpsimd_core_partitions * index_elements
                           : attribute;
}

void check_counts(const Draft& draft, const Architecture& architecture) {
  const View& dst = draft.operand(kDst);
  const int64_t each = draft.attribute(kElements).integer();
  if (each < 1 || each > 32 || !std::has_single_bit(static_cast<uint64_t>(each))) {
    fail(text("num_elem_per_idx ", each,
              " of 'local_gather' is not supported; expected 1, 2, 4, 8, 16 or 32."));
  }
  const int64_t entries = draft.operand(kIndex).free_elements();
  const int64_t slice = architecture.limits.gpsimd_core_partitions * entries;
  const int64_t valid = valid_indices(draft.attribute(kValid).integer(), entries, architecture);
  if (valid < 1 || valid > slice) {
    fail(text("num_valid_indices ", valid, " of 'local_gather' must be 1 to ", slice,
              ", the indices in ", architecture.limits.gpsimd_core_partitions,
              " partitions of operand 'index' (", draft.operand(kIndex).describe(), ")."));
  }
  const int64_t limit = architecture.limits.local_gather_indices;
  if (valid > limit) {
    fail(text("number of indices per GpSimd core ", valid,
              " of 'local_gather' exceed architecture limitation of ", limit, " (architecture ",
              architecture.name, ")."));
  }
  if (dst.free_elements() != valid * each) {
    fail(text("operand 'dst' of 'local_gather' (", dst.describe(), ") must have ", valid * each,
              " elements per partition: ", valid, " indices of ", each, " elements."));
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kGpSimd}, architecture);
  const View& dst = draft.operand(kDst);
  const View& source = draft.operand(kSrcBuffer);
  const View& index = draft.operand(kIndex);
  checks::compute_operand(kName, "src_buffer", source, draft.engine, architecture);
  checks::compute_operand(kName, "index", index, draft.engine, architecture);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  checks::same_partitions(kName, "src_buffer", source, "index", index);
  checks::same_partitions(kName, "dst", dst, "src_buffer", source);
  const int64_t core = architecture.limits.gpsimd_core_partitions;
  if (source.partitions() % core != 0) {
    fail(text("number of partitions ", source.partitions(),
              " of operand 'src_buffer' of 'local_gather' must be a multiple of ", core,
              ", the partitions of a GpSimd core of architecture ", architecture.name, "."));
  }
  if (index.dtype() != Dtype::kUint16) checks::dtype_error(kName, "index", index, "uint16");
  if (dst.dtype() != source.dtype()) {
    checks::dtype_error(kName, "dst", dst, text("that of src_buffer, ", name(source.dtype())));
  }
  check_counts(draft, architecture);
}

void run(const Instance& instance) {
  const Access& source = instance.operand(kSrcBuffer);
  const Access& index = instance.operand(kIndex);
  const int64_t core = instance.architecture->limits.gpsimd_core_partitions;
  const int64_t each = instance.attribute(kElements).integer();
  const int64_t valid =
      valid_indices(instance.attribute(kValid).integer(), index.elements(), *instance.architecture);
  RowScratch& scratch = row_scratch();
  std::vector<int64_t>& elements = scratch.result_integers;
  for (int64_t first = 0; first < source.partitions; first += core) {
    elements.assign(static_cast<size_t>(valid * each), 0);
    for (int64_t p = 0; p < core; ++p) {
      const int64_t* row = read_integer_row(index, first + p, scratch.first_integers);
      for (int64_t i = p; i < valid; i += core) {
        const int64_t start = row[i / core];
        check_gather_index(kName, "src_buffer", source, start, each, first + p);
        for (int64_t j = 0; j < each; ++j) {
          elements[static_cast<size_t>(i * each + j)] = start + j;
        }
      }
    }
    for (int64_t p = first; p < first + core; ++p) {
      gather_row(source, p, elements, instance.operand(kDst), p);
    }
  }
}

/// Documented: 150 + n e / C cycles, C = (28 + t e) / (t e) / min(4 / itemsize, e), t = 4.
Demand demand(const Draft& draft, const Architecture& architecture) {
  const View& source = draft.operand(kSrcBuffer);
  const int64_t each = draft.attribute(kElements).integer();
  const int64_t valid = valid_indices(draft.attribute(kValid).integer(),
                                      draft.operand(kIndex).free_elements(), architecture);
  const int64_t together = std::min<int64_t>(4 / itemsize(source.dtype()), each);
  const int64_t numerator = valid * each * together * 4 * each;
  const int64_t denominator = 28 + 4 * each;
  Demand demand;
  demand.add({.unit = Unit::kElementwise,
              .rate = RateClass::kGpSimdStep,
              .strided = is_strided(source),
              .elements = (numerator + denominator - 1) / denominator});
  return demand;
}

}  // namespace

Draft LocalGather::draft() const {
  Draft draft = draft_of(kLocalGather, *this);
  draft.attributes[kValid] = Attribute::of(num_valid_indices.value_or(kAll));
  return draft;
}

const InstructionType kLocalGather = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kGpSimd>, check, run, demand};

}  // namespace neuron_sim
