#include "device/isa/tensor/nc_matmul_mx.h"

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/rows.h"
#include "device/instruction/tile_limits.h"
#include "device/isa/tensor/microscaling.h"
#include "device/numerics/packed.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "nc_matmul_mx";
constexpr int64_t kFirstGeneration = 4;
// The order that the timeline expects: the load waits for operands 1 and 3.

using enum NcMatmulMx::OperandIndex;
using enum NcMatmulMx::AttributeIndex;
constexpr auto kOperands = operand_table<NcMatmulMx>();
constexpr auto kAttributes = attribute_table<NcMatmulMx>();

void check_data(const Draft& draft, NcMatmulMx::OperandIndex operand,
                const Architecture& architecture) {
  const View& view = draft.operand(operand);
  const std::string_view field = kOperands[operand].name;
  checks::memory(kName, field, view, {MemoryKind::kSbuf});
  if (!is_packed(view.dtype())) {
    checks::dtype_error(kName, field, view, "float8_e5m2_x4, float8_e4m3fn_x4 or float4_e2m1fn_x4");
  }
  checks::whole_quadrants(kName, field, view, architecture);
  checks::start_partition(kName, field, view, architecture);
}

void check_shapes(const Draft& draft, const Architecture& architecture) {
  const Limits& limits = architecture.limits;
  const View& dst = draft.operand(kDst);
  const View& stationary = draft.operand(kStationary);
  const View& moving = draft.operand(kMoving);
  const Placement placement = Placement::of(draft, kPlacement);
  checks::array_tile(kName, placement, false, architecture);
  const int64_t rows = placement.given() ? (*placement.size)[0] : limits.partitions;
  const int64_t wide = dst.dtype() == Dtype::kBfloat16 ? 2 : 1;
  check_tile_size(kName, "stationary", stationary, rows, limits.stationary_free, architecture);
  check_tile_size(kName, "moving", moving, rows, limits.moving_free_mx * wide, architecture);
  checks::same_partitions(kName, "stationary", stationary, "moving", moving);
  if (stationary.free_elements() % 2 != 0) {
    fail(text("operand 'stationary' of 'nc_matmul_mx' is ", stationary.describe(),
              ", but must have an even number of elements per partition."));
  }
  checks::product_room(kName, dst, stationary.free_elements(), architecture);
  checks::same_free_elements(kName, "dst", dst, "moving", moving);
}

void check(const Draft& draft, const Architecture& architecture) {
  if (!architecture.features.microscaling) {
    checks::generation(kName, kFirstGeneration, architecture);
  }
  checks::engine(kName, draft.engine, {EngineKind::kTensor}, architecture);
  const View& dst = draft.operand(kDst);
  checks::memory(kName, "dst", dst, {MemoryKind::kPsum});
  if (dst.dtype() != Dtype::kFloat32 && dst.dtype() != Dtype::kBfloat16) {
    checks::dtype_error(kName, "dst", dst, "float32 or bfloat16");
  }
  check_data(draft, kStationary, architecture);
  check_data(draft, kMoving, architecture);
  check_shapes(draft, architecture);
  checks::start_partition(kName, "dst", dst, architecture);
  for (const NcMatmulMx::OperandIndex operand : {kStationary, kMoving}) {
    const int scale = operand - kStationary + kStationaryScale;
    const View& view = draft.operand(operand);
    checks::scale_tile(kName, kOperands[scale].name, draft.operand(scale), kOperands[operand].name,
                       view.partitions(), view.free_elements());
  }
}

/// The values of one partition, four to an element, one after the other.
const float* read_packed_row(const Access& access, int64_t partition, std::vector<float>& buffer) {
  buffer.resize(static_cast<size_t>(access.elements() * kPackedValues));
  const Pattern pattern = free_pattern(access);
  float* values = buffer.data();
  for (int64_t run = 0; run < pattern.runs(); ++run, values += pattern.length * kPackedValues) {
    load_packed(access.partition(partition) + pattern.offset(run), access.dtype, pattern.stride,
                values, pattern.length);
  }
  return buffer.data();
}

/// [K, F] packed elements and their scales as 4 K rows of F values.
FloatOperand dequantise(const Access& data, Access scale, std::vector<float>& buffer) {
  scale.dtype = Dtype::kFloat8E8m0fnu;  // uint8 holds the same bits
  scale.widened = nullptr;
  const int64_t elements = data.elements();
  const int64_t pitch = elements + 16;  // off powers of two, where rows compete for cache sets
  buffer.resize(static_cast<size_t>(int64_t{data.partitions} * kPackedValues * pitch));
  float* row = buffer.data();
  for (int64_t k = 0; k < data.partitions; ++k) {
    const float* scales = read_row(scale, scale_row(k), row_scratch().third);
    const float* values = read_packed_row(data, k, row_scratch().result);
    for (int j = 0; j < kPackedValues; ++j, row += pitch) {
      for (int64_t n = 0; n < elements; ++n) row[n] = values[n * kPackedValues + j] * scales[n];
    }
  }
  FloatOperand operand{buffer.data(), pitch, Pattern{}, true};
  operand.pattern.length = elements;
  operand.pattern.stride = 1;
  return operand;
}

void run(const Instance& instance) {
  const auto accumulate = instance.attribute(kAccumulate).as<Accumulate>();
  require(accumulate != Accumulate::kAuto, "the Builder settles what accumulate=None means");
  const Access& stationary = instance.operand(kStationary);
  RowScratch& scratch = row_scratch();
  const FloatOperand weights =
      dequantise(stationary, instance.operand(kStationaryScale), scratch.first);
  const FloatOperand stream =
      dequantise(instance.operand(kMoving), instance.operand(kMovingScale), scratch.second);
  multiply_operands(instance.operand(kDst), weights, stream,
                    int64_t{stationary.partitions} * kPackedValues, accumulate == Accumulate::kAdd);
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& stationary = draft.operand(kStationary);
  const View& moving = draft.operand(kMoving);
  Step step{.unit = Unit::kLoadStationary,
            .strided = is_strided(stationary),
            .array = Placement::of(draft, kPlacement).tile(),
            .elements = stationary.free_elements()};
  Demand demand;
  demand.add(step);
  step.unit = Unit::kMultiplyMoving;
  step.strided = is_strided(moving);
  step.elements = moving.free_elements();
  demand.add(step);
  demand.multiply_accumulates =
      kPackedValues * stationary.partitions() * stationary.free_elements() * step.elements;
  return demand;
}

}  // namespace

Draft NcMatmulMx::draft() const {
  Accumulate mode = Accumulate::kAuto;
  if (accumulate) mode = *accumulate ? Accumulate::kAdd : Accumulate::kOverwrite;
  Draft draft = draft_of(kNcMatmulMx, *this);
  draft.attributes[kAccumulate] = Attribute::of(mode);
  place_on_array(draft, kPlacement, {tile_position, tile_size});
  return draft;
}

const InstructionType kNcMatmulMx = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kTensor>, check, run, demand};

}  // namespace neuron_sim
