#include "device/isa/movement/nc_n_gather.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/isa/movement/gather.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "nc_n_gather";
constexpr int64_t kGroup = 512;  // elements per ISA instruction (nki.isa.nc_n_gather)
using enum NcNGather::OperandIndex;
constexpr auto kOperands = operand_table<NcNGather>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kGpSimd}, architecture);
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  const View& indices = draft.operand(kIndices);
  checks::compute_operand(kName, "data", data, draft.engine, architecture);
  checks::compute_operand(kName, "indices", indices, draft.engine, architecture);
  checks::compute_operand(kName, "dst", dst, draft.engine, architecture);
  checks::same_partitions(kName, "data", data, "indices", indices);
  checks::same_partitions(kName, "dst", dst, "indices", indices);
  checks::same_free_elements(kName, "dst", dst, "indices", indices);
  if (indices.dtype() != Dtype::kUint32) checks::dtype_error(kName, "indices", indices, "uint32");
  if (dst.dtype() != data.dtype()) {
    checks::dtype_error(kName, "dst", dst, text("that of data, ", name(data.dtype())));
  }
}

void run(const Instance& instance) {
  const Access& data = instance.operand(kData);
  const Access& indices = instance.operand(kIndices);
  const auto count = static_cast<size_t>(indices.elements());
  for (int64_t p = 0; p < data.partitions; ++p) {
    const int64_t* row = read_integer_row(indices, p, row_scratch().first_integers);
    const std::span<const int64_t> elements(row, count);
    for (const int64_t index : elements) check_gather_index(kName, "data", data, index, 1, p);
    gather_row(data, p, elements, instance.operand(kDst), p);
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  Demand demand =
      elementwise::demand(RateClass::kGpSimdTwoInputs, dst, {&dst, &draft.operand(kIndices)});
  demand.steps[0].starts = (dst.free_elements() + kGroup - 1) / kGroup;
  return demand;
}

}  // namespace

Draft NcNGather::draft() const { return draft_of(kNcNGather, *this); }

const InstructionType kNcNGather = {kName, kOperands, {},    fixed_engine<EngineKind::kGpSimd>,
                                    check, run,       demand};

}  // namespace neuron_sim
