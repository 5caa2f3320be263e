#include "device/isa/tensor/nc_matmul.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/rows.h"
#include "device/instruction/tile_limits.h"
#include "device/isa/tensor/exact_transpose.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "nc_matmul";

using enum NcMatmul::OperandIndex;
using enum NcMatmul::AttributeIndex;
constexpr auto kOperands = operand_table<NcMatmul>();
constexpr auto kAttributes = attribute_table<NcMatmul>();

bool is_four_byte_float(Dtype dtype) {
  return dtype == Dtype::kFloat32 || dtype == Dtype::kTfloat32;
}

bool is_fp8(Dtype dtype) {
  return dtype == Dtype::kFloat8E4m3 || dtype == Dtype::kFloat8E5m2 ||
         dtype == Dtype::kFloat8E4m3fn;
}

bool is_exact_transpose(const Draft& draft, const Architecture& architecture) {
  return draft.attribute(kIsTranspose).flag() && architecture.features.exact_transpose;
}

bool is_double_row(const Draft& draft) {
  return draft.attribute(kPerformanceMode).as<MatmulPerformanceMode>() ==
         MatmulPerformanceMode::kDoubleRow;
}

/// Values along the contraction that share a partition.
int64_t values_per_row(const Draft& draft) { return is_double_row(draft) ? 2 : 1; }

void check_operand_dtype(std::string_view operand, const View& view,
                         const Architecture& architecture) {
  const Dtype dtype = view.dtype();
  const bool ocp = architecture.features.microscaling;
  if (is_float(dtype) && dtype != Dtype::kFloat8E8m0fnu && (ocp || dtype != Dtype::kFloat8E4m3fn)) {
    return;
  }
  checks::dtype_error(kName, operand, view,
                      text("float8_e4m3, float8_e5m2, ", ocp ? "float8_e4m3fn, " : "",
                           "float16, bfloat16, tfloat32 or float32"));
}

void check_mixing(const View& stationary, const View& moving) {
  const auto both = [&](std::string_view rule) {
    fail(text("dtypes ", name(stationary.dtype()), " of operand 'stationary' and ",
              name(moving.dtype()), " of operand 'moving' of 'nc_matmul' cannot be mixed; ", rule),
         ErrorKind::kType);
  };
  if (is_four_byte_float(stationary.dtype()) != is_four_byte_float(moving.dtype())) {
    both("float32 and tfloat32 need the other to be float32 or tfloat32.");
  }
  const auto is = [&](Dtype one, Dtype other) {
    return stationary.dtype() == one && moving.dtype() == other;
  };
  if (is(Dtype::kFloat8E4m3, Dtype::kFloat8E4m3fn) ||
      is(Dtype::kFloat8E4m3fn, Dtype::kFloat8E4m3)) {
    both("float8_e4m3 and float8_e4m3fn exclude each other.");
  }
}

void check_dtypes(const Draft& draft, const Architecture& architecture) {
  const View& dst = draft.operand(kDst);
  const View& stationary = draft.operand(kStationary);
  check_operand_dtype("stationary", stationary, architecture);
  check_operand_dtype("moving", draft.operand(kMoving), architecture);
  check_mixing(stationary, draft.operand(kMoving));
  if (is_exact_transpose(draft, architecture)) {
    checks::exact_transpose_dst(kName, "stationary", stationary, dst,
                                ", because is_transpose is set");
    if (draft.attribute(kAccumulate).as<Accumulate>() == Accumulate::kAdd) {
      fail("'nc_matmul' with is_transpose moves bits and cannot accumulate.");
    }
    return;
  }
  const bool bfloat16 = architecture.features.bfloat16_psum;
  if (dst.dtype() == Dtype::kFloat32 || (bfloat16 && dst.dtype() == Dtype::kBfloat16)) return;
  checks::dtype_error(kName, "dst", dst, bfloat16 ? "float32 or bfloat16" : "float32");
}

/// The rules of perf_mode double_row (nki.isa.nc_matmul, "Performance mode").
void check_double_row(const Draft& draft, const Architecture& architecture) {
  if (!is_double_row(draft)) return;
  const std::string where = text(" (architecture ", architecture.name, ")");
  if (!architecture.features.double_row) {
    fail(text("'nc_matmul' with perf_mode double_row needs NeuronCore-v3 or newer.", where),
         ErrorKind::kNotImplemented);
  }
  for (const NcMatmul::OperandIndex operand : {kStationary, kMoving}) {
    const View& view = draft.operand(operand);
    if (!is_fp8(view.dtype())) {
      checks::dtype_error(kName, kOperands[operand].name, view,
                          "an fp8 dtype, because perf_mode is double_row");
    }
    if (view.rank() < 3 || view.size(1) != 2) {
      fail(text("operand '", kOperands[operand].name, "' of 'nc_matmul' with perf_mode double_row ",
                "is ", view.describe(), ", but its first free dimension must be 2.", where));
    }
  }
  if (draft.attribute(kIsTranspose).flag()) {
    fail(text("'nc_matmul' with perf_mode double_row cannot transpose.", where));
  }
  const Placement placement = Placement::of(draft, kPlacement);
  if (placement.size && (*placement.size)[1] != architecture.limits.partitions) {
    fail(text("'nc_matmul' with perf_mode double_row cannot tile columns.", where));
  }
}

void check_shapes(const Draft& draft, const Architecture& architecture) {
  const Limits& limits = architecture.limits;
  const View& dst = draft.operand(kDst);
  const View& stationary = draft.operand(kStationary);
  const View& moving = draft.operand(kMoving);
  const Placement placement = Placement::of(draft, kPlacement);
  checks::array_tile(kName, placement, true, architecture);
  const int64_t rows = placement.given() ? (*placement.size)[0] : limits.partitions;
  const int64_t columns = placement.given() ? (*placement.size)[1] : limits.stationary_free;
  const int64_t values = values_per_row(draft);
  const bool wide = architecture.features.bfloat16_psum && dst.dtype() == Dtype::kBfloat16;
  check_tile_size(kName, "stationary", stationary, rows, columns * values, architecture);
  check_tile_size(kName, "moving", moving, rows, limits.moving_free * values * (wide ? 2 : 1),
                  architecture);
  checks::same_partitions(kName, "stationary", stationary, "moving", moving);
  checks::product_room(kName, dst, stationary.free_elements() / values, architecture);
  if (values == 1) {
    checks::same_free_elements(kName, "dst", dst, "moving", moving);
  } else if (dst.free_elements() * values != moving.free_elements()) {
    fail(text("operand 'dst' of 'nc_matmul' is ", dst.describe(), ", but ", moving.describe(),
              " with perf_mode double_row has ", moving.free_elements() / values, " columns."));
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kTensor}, architecture);
  checks::memory(kName, "dst", draft.operand(kDst), {MemoryKind::kPsum});
  checks::memory(kName, "stationary", draft.operand(kStationary), {MemoryKind::kSbuf});
  checks::memory(kName, "moving", draft.operand(kMoving), {MemoryKind::kSbuf});
  check_dtypes(draft, architecture);
  check_double_row(draft, architecture);
  check_shapes(draft, architecture);
  for (const NcMatmul::OperandIndex operand : {kDst, kStationary, kMoving}) {
    const View& view = draft.operand(operand);
    if (operand != kDst) checks::free_size(kName, kOperands[operand].name, view, architecture);
    checks::start_partition(kName, kOperands[operand].name, view, architecture);
  }
}

/// The row of the single 1 in column `n` of moving; moving is [K][N].
int64_t selected_row(const std::vector<float>& moving, int64_t depth, int64_t columns, int64_t n) {
  int64_t row = -1;
  for (int64_t k = 0; k < depth; ++k) {
    const float value = moving[static_cast<size_t>(k * columns + n)];
    if (value == 0) continue;
    if (value != 1 || row >= 0) row = depth;
    if (row < 0) row = k;
  }
  if (row < 0 || row >= depth) {
    fail(text("column ", n, " of operand 'moving' of 'nc_matmul' with is_transpose must hold ",
              "exactly one 1 and zeros."));
  }
  return row;
}

/// Transpose mode: moves the bits of the selected rows of `stationary`.
void run_transpose(const Access& dst, const Access& stationary, const Access& moving) {
  RowScratch& scratch = row_scratch();
  const int64_t columns = moving.elements();
  std::vector<float>& selection = scratch.second;
  selection.resize(static_cast<size_t>(moving.partitions * columns));
  for (int64_t k = 0; k < moving.partitions; ++k) {
    const float* row = read_row(moving, k, scratch.first);
    std::copy_n(row, columns, selection.data() + k * columns);
  }
  for (int64_t n = 0; n < columns; ++n) {
    const int64_t k = selected_row(selection, moving.partitions, columns, n);
    move_row_to_column(stationary, k, dst, n);
  }
}

/// [K, 2, F] as 2 K rows of F values: half 0 of all partitions, then half 1.
FloatOperand pack_halves(const Access& access, std::vector<float>& buffer) {
  Access half = access;
  half.rank -= 1;
  std::copy(access.free.begin() + 1, access.free.end(), half.free.begin());
  half.free.back() = {};
  half.widened = nullptr;
  const int64_t elements = half.elements();
  const int64_t pitch = elements + 16;  // off powers of two, where rows compete for cache sets
  buffer.resize(static_cast<size_t>(int64_t{2} * access.partitions * pitch));
  float* row = buffer.data();
  for (int i = 0; i < 2; ++i, half.data += access.free[0].stride) {
    for (int64_t k = 0; k < access.partitions; ++k, row += pitch) {
      std::copy_n(read_row(half, k, row_scratch().third), elements, row);
    }
  }
  FloatOperand operand{buffer.data(), pitch, Pattern{}, fits_bfloat16(access.dtype)};
  operand.pattern.length = elements;
  operand.pattern.stride = 1;
  return operand;
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& stationary = instance.operand(kStationary);
  const Access& moving = instance.operand(kMoving);
  if (instance.attribute(kIsTranspose).flag() && instance.architecture->features.exact_transpose) {
    return run_transpose(dst, stationary, moving);
  }
  const auto accumulate = instance.attribute(kAccumulate).as<Accumulate>();
  require(accumulate != Accumulate::kAuto, "the Builder settles what accumulate=None means");
  const bool add = accumulate == Accumulate::kAdd;
  RowScratch& scratch = row_scratch();
  if (instance.attribute(kPerformanceMode).as<MatmulPerformanceMode>() ==
      MatmulPerformanceMode::kDoubleRow) {
    const FloatOperand weights = pack_halves(stationary, scratch.first);
    const FloatOperand stream = pack_halves(moving, scratch.second);
    return multiply_operands(dst, weights, stream, 2 * int64_t{stationary.partitions}, add);
  }
  const FloatOperand weights = float_operand(stationary, RunRule::kOne, scratch.first);
  const FloatOperand stream = float_operand(moving, RunRule::kKeep, scratch.second);
  multiply_operands(dst, weights, stream, stationary.partitions, add, instance.later);
}

MatmulClass matmul_class(const Draft& draft, const Architecture& architecture) {
  if (!is_four_byte_float(draft.operand(kStationary).dtype())) return MatmulClass::k16bit;
  if (is_exact_transpose(draft, architecture)) return MatmulClass::kFp32Transpose;
  const bool onezero =
      (draft.attribute(kStationaryOneZero).flag() &&
       draft.operand(kStationary).dtype() == Dtype::kFloat32) ||
      (draft.attribute(kMovingOneZero).flag() && draft.operand(kMoving).dtype() == Dtype::kFloat32);
  return onezero ? MatmulClass::kFp32OneZero : MatmulClass::kFp32;
}

Demand demand(const Draft& draft, const Architecture& architecture) {
  const View& stationary = draft.operand(kStationary);
  const View& moving = draft.operand(kMoving);
  const int64_t values = values_per_row(draft);
  Step step{.unit = Unit::kLoadStationary,
            .matmul = matmul_class(draft, architecture),
            .strided = is_strided(stationary),
            .transpose = is_exact_transpose(draft, architecture),
            .array = Placement::of(draft, kPlacement).tile(),
            .elements = stationary.free_elements() / values};
  Demand demand;
  demand.add(step);
  step.unit = Unit::kMultiplyMoving;
  step.strided = is_strided(moving);
  step.elements = moving.free_elements() / values;
  demand.add(step);
  demand.multiply_accumulates =
      stationary.partitions() * stationary.free_elements() * step.elements;
  return demand;
}

}  // namespace

Draft NcMatmul::draft() const {
  Accumulate mode = Accumulate::kOverwrite;
  if (!accumulate && !is_transpose) mode = Accumulate::kAuto;
  if (accumulate && *accumulate) mode = Accumulate::kAdd;
  Draft draft = draft_of(kNcMatmul, *this);
  draft.attributes[kAccumulate] = Attribute::of(mode);
  place_on_array(draft, kPlacement, {tile_position, tile_size});
  return draft;
}

const InstructionType kNcMatmul = {kName, kOperands, kAttributes, fixed_engine<EngineKind::kTensor>,
                                   check, run,       demand};

}  // namespace neuron_sim
