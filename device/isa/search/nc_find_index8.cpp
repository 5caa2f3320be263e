#include "device/isa/search/nc_find_index8.h"

#include <algorithm>
#include <array>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/pattern.h"
#include "device/instruction/rows.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "nc_find_index8";
constexpr int64_t kCount = 8;
using enum NcFindIndex8::OperandIndex;
constexpr auto kOperands = operand_table<NcFindIndex8>();

void check_eight(std::string_view operand, const View& view) {
  if (view.free_elements() == kCount) return;
  fail(text("operand '", operand, "' of 'nc_find_index8' has ", view.free_elements(),
            " elements per partition, but must have 8."));
}

/// The vendor reads vals of at most two free dimensions.
void check_rank(const View& vals) {
  constexpr int kMaximum = 3;
  if (vals.rank() <= kMaximum) return;
  fail(text("operand 'vals' of 'nc_find_index8' is ", vals.describe(), ", but may have at most ",
            kMaximum, " dimensions."));
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  const View& vals = draft.operand(kVals);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  checks::compute_operand(kName, "data", data, draft.engine, architecture);
  checks::compute_operand(kName, "vals", vals, draft.engine, architecture);
  checks::same_partitions(kName, "dst", dst, "data", data);
  checks::same_partitions(kName, "data", data, "vals", vals);
  const Limits& limits = architecture.limits;
  if (data.free_elements() < limits.max8_minimum_elements ||
      data.free_elements() > limits.max8_maximum_elements) {
    fail(text("operand 'data' of 'nc_find_index8' has ", data.free_elements(),
              " elements per partition; architecture ", architecture.name, " allows ",
              limits.max8_minimum_elements, " to ", limits.max8_maximum_elements, "."));
  }
  check_eight("dst", dst);
  check_eight("vals", vals);
  check_rank(vals);
  if (dst.dtype() != Dtype::kUint16 && dst.dtype() != Dtype::kUint32) {
    checks::dtype_error(kName, "dst", dst, "uint16 or uint32");
  }
}

/// Index of the first equal element, -1 if none. Whole blocks are compared at once first.
int64_t find_first(const float* data, int64_t count, float value) {
  constexpr int64_t kBlock = 64;
  int64_t i = 0;
  for (; i + kBlock <= count; i += kBlock) {
    int hits = 0;
    for (int64_t j = 0; j < kBlock; ++j) hits |= data[i + j] == value ? 1 : 0;
    if (hits != 0) break;
  }
  const float* found = std::find(data + i, data + count, value);
  return found == data + count ? -1 : found - data;
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& data = instance.operand(kData);
  const Access& vals = instance.operand(kVals);
  RowScratch& scratch = row_scratch();
  for (int64_t p = 0; p < data.partitions; ++p) {
    const float* row = read_row(data, p, scratch.first);
    const float* values = read_row(vals, p, scratch.second);
    std::array<int64_t, kCount> indices{};
    for (size_t j = 0; j < kCount; ++j) indices[j] = find_first(row, data.elements(), values[j]);
    write_integer_row(dst, p, indices.data());  // -1 modulo 2^bits is all ones
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& data = draft.operand(kData);
  Demand demand;
  demand.add({.unit = Unit::kElementwise,
              .source_psum = data.memory() == MemoryKind::kPsum,
              .strided = is_strided(data),
              .elements = data.free_elements()});
  return demand;
}

}  // namespace

Draft NcFindIndex8::draft() const { return draft_of(kNcFindIndex8, *this); }

const InstructionType kNcFindIndex8 = {kName, kOperands, {},    fixed_engine<EngineKind::kVector>,
                                       check, run,       demand};

}  // namespace neuron_sim
