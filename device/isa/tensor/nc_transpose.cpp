#include "device/isa/tensor/nc_transpose.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/element_copy.h"
#include "device/instruction/float_operand.h"
#include "device/instruction/rows.h"
#include "device/instruction/tile_limits.h"
#include "device/isa/tensor/exact_transpose.h"
#include "device/isa/tensor/tile_multiply.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "nc_transpose";
using enum NcTranspose::OperandIndex;
constexpr auto kOperands = operand_table<NcTranspose>();

EngineKind choose_engine(const Draft& draft, const Architecture& architecture) {
  const View& data = draft.operand(kData);
  const int64_t edge = architecture.limits.vector_transpose;
  const bool fits = data.partitions() <= edge && data.free_elements() <= edge;
  const bool tensor_reaches =
      data.memory() != MemoryKind::kPsum && draft.operand(kDst).memory() != MemoryKind::kSbuf;
  return fits && !tensor_reaches ? EngineKind::kVector : EngineKind::kTensor;
}

/// Whether the Tensor engine multiplies by an identity: without transpose mode, and into fp32,
/// which that mode does not give for 16-bit data.
bool is_product(EngineKind engine, Dtype dst, Dtype data, const Architecture& architecture) {
  if (engine != EngineKind::kTensor) return false;
  const bool widens = dst == Dtype::kFloat32 && is_float(data) && itemsize(data) == 2;
  return widens || !architecture.features.exact_transpose;
}

void check_dtypes(const Draft& draft, const Architecture& architecture) {
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  if (is_product(draft.engine, dst.dtype(), data.dtype(), architecture)) {
    if (!is_float(data.dtype())) {
      checks::dtype_error(kName, "data", data,
                          "a floating dtype, because the Tensor engine transposes by multiplying");
    }
    if (dst.dtype() != Dtype::kFloat32) checks::dtype_error(kName, "dst", dst, "float32");
  } else if (draft.engine == EngineKind::kTensor) {
    checks::exact_transpose_dst(kName, "data", data, dst, "");
  } else if (dst.dtype() != data.dtype()) {
    checks::dtype_error(kName, "dst", dst, text(name(data.dtype()), ", the dtype of 'data'"));
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kTensor, EngineKind::kVector}, architecture);
  const Limits& limits = architecture.limits;
  const View& dst = draft.operand(kDst);
  const View& data = draft.operand(kData);
  if (draft.engine == EngineKind::kTensor) {
    checks::memory(kName, "data", data, {MemoryKind::kSbuf});
    checks::memory(kName, "dst", dst, {MemoryKind::kPsum});
    check_tile_size(kName, "data", data, limits.partitions, limits.stationary_free, architecture);
  } else {
    checks::memory(kName, "data", data, {MemoryKind::kPsum, MemoryKind::kSbuf});
    checks::memory(kName, "dst", dst, {MemoryKind::kPsum, MemoryKind::kSbuf});
    check_tile_size(kName, "data", data, limits.vector_transpose, limits.vector_transpose,
                    architecture);
  }
  if (dst.partitions() != data.free_elements() || dst.free_elements() != data.partitions()) {
    fail(text("operand 'dst' of 'nc_transpose' is ", dst.describe(), ", but the transpose of ",
              data.describe(), " has ", data.free_elements(), " partitions of ", data.partitions(),
              " elements."));
  }
  check_dtypes(draft, architecture);
  for (const NcTranspose::OperandIndex operand : {kDst, kData}) {
    checks::free_size(kName, kOperands[operand].name, draft.operand(operand), architecture);
    checks::start_partition(kName, kOperands[operand].name, draft.operand(operand), architecture);
  }
}

/// Bit by bit. In row-major order of dst the partition of data runs fastest.
void move_bits(const Access& dst, const Access& data) {
  if (dst.dtype != data.dtype) {  // 1-byte elements into 16-bit ones
    for (int64_t p = 0; p < data.partitions; ++p) move_row_to_column(data, p, dst, p);
    return;
  }
  std::array<Dimension, kMaximumCopyRank> from{}, to{};
  std::copy_n(data.free.begin(), data.rank, from.begin());
  from[static_cast<size_t>(data.rank)] = {data.partitions, data.partition_stride};
  to[0] = {dst.partitions, dst.partition_stride};
  std::copy_n(dst.free.begin(), dst.rank, to.begin() + 1);
  copy_elements({data.data, {from.data(), static_cast<size_t>(data.rank) + 1}},
                {dst.data, {to.data(), static_cast<size_t>(dst.rank) + 1}}, itemsize(data.dtype));
}

/// data.T @ identity in fp32.
void multiply_identity(const Access& dst, const Access& data) {
  RowScratch& scratch = row_scratch();
  const int64_t depth = data.partitions;
  const FloatOperand weights = float_operand(data, RunRule::kOne, scratch.first);
  scratch.second.assign(static_cast<size_t>(depth * depth), 0.0F);
  for (int64_t k = 0; k < depth; ++k) scratch.second[static_cast<size_t>(k * (depth + 1))] = 1;
  scratch.result.resize(static_cast<size_t>(dst.partitions * depth));
  multiply_tile({dst.partitions, depth, depth, weights.data, weights.pitch, scratch.second.data(),
                 depth, scratch.result.data(), depth, false});
  for (int64_t f = 0; f < dst.partitions; ++f) {
    write_row(dst, f, scratch.result.data() + f * depth);
  }
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& data = instance.operand(kData);
  if (is_product(instance.engine, dst.dtype, data.dtype, *instance.architecture)) {
    multiply_identity(dst, data);
  } else {
    move_bits(dst, data);
  }
}

/// Tensor engine: data is the stationary operand (F columns) and the identity is the moving one (P
/// columns): "loading it as a stationary tile and using an identity matrix as the moving tile"
/// (nki.isa.nc_matmul, transpose mode). It agrees with the documented cost max(P, min(64, F)) of
/// nc_transpose against max(min(64, N_stationary), N_moving) of nc_matmul
/// (docs/hardware_facts.md#nc_transpose).
Demand demand(const Draft& draft, const Architecture& architecture) {
  const View& data = draft.operand(kData);
  Demand demand;
  if (draft.engine == EngineKind::kVector) {
    demand.add({.unit = Unit::kElementwise,
                .source_psum = data.memory() == MemoryKind::kPsum,
                .strided = is_strided(data),
                .elements = data.free_elements()});
    return demand;
  }
  const MatmulClass kind =
      itemsize(data.dtype()) == 4 ? MatmulClass::kFp32Transpose : MatmulClass::k16bit;
  const bool transpose =
      !is_product(draft.engine, draft.operand(kDst).dtype(), data.dtype(), architecture);
  demand.add({.unit = Unit::kLoadStationary,
              .matmul = kind,
              .strided = is_strided(data),
              .transpose = transpose,
              .elements = data.free_elements()});
  demand.add({.unit = Unit::kMultiplyMoving,
              .matmul = kind,
              .transpose = transpose,
              .elements = data.partitions()});
  return demand;
}

}  // namespace

Draft NcTranspose::draft() const { return draft_of(kNcTranspose, *this); }

const InstructionType kNcTranspose = {kName, kOperands, {}, choose_engine, check, run, demand};

}  // namespace neuron_sim
