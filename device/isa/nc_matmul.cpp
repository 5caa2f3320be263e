#include "device/isa/nc_matmul.h"

#include <algorithm>

#include "device/base/errors.h"
#include "device/isa/checks.h"
#include "device/isa/element_copy.h"
#include "device/isa/float_operand.h"
#include "device/isa/rows.h"
#include "device/isa/tile_limits.h"
#include "device/isa/tile_multiply.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "nc_matmul";
enum OperandIndex { kDst, kStationary, kMoving };
enum AttributeIndex { kAccumulate, kIsTranspose };

constexpr OperandField kOperands[] = {{"dst", Direction::kWrite, false, kAccumulate},
                                      {"stationary", Direction::kRead},
                                      {"moving", Direction::kRead}};
constexpr AttributeField kAttributes[] = {{"accumulate", AttributeKind::kFlag},
                                          {"is_transpose", AttributeKind::kFlag}};

EngineKind choose_engine(const Draft&, const Architecture&) { return EngineKind::kTensor; }

bool is_four_byte_float(Dtype dtype) {
  return dtype == Dtype::kFloat32 || dtype == Dtype::kTfloat32;
}

bool is_exact_transpose(const Draft& draft, const Architecture& architecture) {
  return draft.attribute(kIsTranspose).flag() && architecture.features.exact_transpose;
}

void check_dtypes(const Draft& draft, const Architecture& architecture) {
  constexpr std::string_view kAllowed =
      "float8_e4m3, float8_e5m2, float16, bfloat16, tfloat32 or float32";
  const View& stationary = draft.operand(kStationary);
  const View& moving = draft.operand(kMoving);
  if (!is_float(stationary.dtype())) {
    checks::dtype_error(kName, "stationary", stationary, kAllowed);
  }
  if (!is_float(moving.dtype())) checks::dtype_error(kName, "moving", moving, kAllowed);
  if (is_four_byte_float(stationary.dtype()) != is_four_byte_float(moving.dtype())) {
    fail(text("dtypes ", name(stationary.dtype()), " of operand 'stationary' and ",
              name(moving.dtype()), " of operand 'moving' of 'nc_matmul' cannot be mixed; float32",
              " and tfloat32 need the other to be float32 or tfloat32."),
         ErrorKind::kType);
  }
  const View& dst = draft.operand(kDst);
  if (is_exact_transpose(draft, architecture)) {
    if (dst.dtype() != stationary.dtype()) {
      checks::dtype_error(kName, "dst", dst,
                          text(name(stationary.dtype()), ", the dtype of 'stationary', because ",
                               "is_transpose is set"));
    }
    if (draft.attribute(kAccumulate).flag()) {
      fail("'nc_matmul' with is_transpose moves bits and cannot accumulate.");
    }
  } else if (dst.dtype() != Dtype::kFloat32) {
    checks::dtype_error(kName, "dst", dst, "float32");
  }
}

/// Bytes per partition that one product may fill: a bank, or all of them where the limit of the
/// moving operand is beyond a bank (generation 4; nki.isa.nc_matmul, "Tile size").
int64_t product_room(const Limits& limits) {
  const bool one_bank = limits.moving_free * 4 <= limits.psum_bank.count;
  return limits.psum_bank.count * (one_bank ? 1 : limits.psum_banks);
}

void check_shapes(const Draft& draft, const Architecture& architecture) {
  const Limits& limits = architecture.limits;
  const View& dst = draft.operand(kDst);
  const View& stationary = draft.operand(kStationary);
  const View& moving = draft.operand(kMoving);
  check_tile_size(kName, "stationary", stationary, limits.partitions, limits.stationary_free,
                  architecture);
  check_tile_size(kName, "moving", moving, limits.partitions, limits.moving_free, architecture);
  checks::same_partitions(kName, "stationary", stationary, "moving", moving);
  if (dst.partitions() != stationary.free_elements()) {
    fail(text("operand 'dst' of 'nc_matmul' has ", dst.partitions(), " partitions, but operand ",
              "'stationary' has ", stationary.free_elements(), " elements per partition."));
  }
  checks::same_free_elements(kName, "dst", dst, "moving", moving);
  const int64_t bytes = dst.free_elements() * itemsize(dst.dtype());
  const int64_t room = product_room(limits);
  if (bytes > room) {
    fail(text("operand 'dst' of 'nc_matmul' needs ", bytes, " bytes per partition, which exceed ",
              "architecture limitation of ", room, ". (architecture ", architecture.name, ")"));
  }
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kTensor}, architecture);
  checks::memory(kName, "dst", draft.operand(kDst), {MemoryKind::kPsum});
  checks::memory(kName, "stationary", draft.operand(kStationary), {MemoryKind::kSbuf});
  checks::memory(kName, "moving", draft.operand(kMoving), {MemoryKind::kSbuf});
  check_dtypes(draft, architecture);
  check_shapes(draft, architecture);
  for (const OperandIndex operand : {kDst, kStationary, kMoving}) {
    checks::free_size(kName, kOperands[operand].name, draft.operand(operand), architecture);
    checks::start_partition(kName, kOperands[operand].name, draft.operand(operand), architecture);
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
  const Pattern pattern = free_pattern(dst);
  const Dimension column{dst.partitions, dst.partition_stride};
  for (int64_t n = 0; n < columns; ++n) {
    const int64_t k = selected_row(selection, moving.partitions, columns, n);
    copy_elements(
        {stationary.partition(k), {stationary.free.data(), static_cast<size_t>(stationary.rank)}},
        {dst.data + pattern.element_offset(n), {&column, 1}}, itemsize(dst.dtype));
  }
}

/// The product goes straight to dst when every run of moving falls into one run of dst.
bool fits_in_place(const Pattern& dst, const Pattern& moving, const Access& access) {
  return dst.stride == static_cast<int64_t>(sizeof(float)) && dst.length % moving.length == 0 &&
         access.partition_stride % static_cast<int64_t>(sizeof(float)) == 0 &&
         (access.partitions == 1 ||
          access.partition_stride >= moving.length * static_cast<int64_t>(sizeof(float)));
}

/// dst = or += the finished product, [M][N], with one fp32 addition per element.
void store_product(const Access& dst, float* product, bool accumulate) {
  const int64_t elements = dst.elements();
  for (int64_t m = 0; m < dst.partitions; ++m, product += elements) {
    if (accumulate) {
      const float* old = read_row(dst, m, row_scratch().third);
      for (int64_t n = 0; n < elements; ++n) product[n] += old[n];
    }
    write_row(dst, m, product);
  }
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& stationary = instance.operand(kStationary);
  const Access& moving = instance.operand(kMoving);
  if (instance.attribute(kIsTranspose).flag() && instance.architecture->features.exact_transpose) {
    return run_transpose(dst, stationary, moving);
  }
  const bool accumulate = instance.attribute(kAccumulate).flag();
  RowScratch& scratch = row_scratch();
  const FloatOperand weights = float_operand(stationary, RunRule::kOne, scratch.first);
  const FloatOperand stream = float_operand(moving, RunRule::kKeep, scratch.second);
  const Pattern pattern = free_pattern(dst);
  const int64_t elements = stream.pattern.elements();
  const int64_t length = stream.pattern.length;
  const bool in_place = fits_in_place(pattern, stream.pattern, dst);
  TileProduct product{dst.partitions,        length,        stationary.partitions,
                      weights.data,          weights.pitch, nullptr,
                      stream.pitch,          nullptr,       elements,
                      accumulate && in_place};
  if (in_place) {
    product.target_pitch =
        std::max<int64_t>(dst.partition_stride / static_cast<int64_t>(sizeof(float)), length);
  } else {
    scratch.result.resize(static_cast<size_t>(dst.partitions * elements));
  }
  const int64_t runs = stream.pattern.runs();
  for (int64_t r = 0; r < runs; ++r) {
    product.moving = stream.data + stream.pattern.offset(r);
    product.target = in_place
                         ? reinterpret_cast<float*>(dst.data + pattern.element_offset(r * length))
                         : scratch.result.data() + r * length;
    multiply_tile(product);
  }
  if (!in_place) store_product(dst, scratch.result.data(), accumulate);
}

Demand demand(const Draft& draft, const Architecture& architecture) {
  const View& stationary = draft.operand(kStationary);
  const View& moving = draft.operand(kMoving);
  MatmulClass kind = MatmulClass::k16bit;
  if (is_four_byte_float(stationary.dtype())) {
    kind =
        is_exact_transpose(draft, architecture) ? MatmulClass::kFp32Transpose : MatmulClass::kFp32;
  }
  Demand demand;
  demand.add({.unit = Unit::kLoadStationary,
              .matmul = kind,
              .strided = is_strided(stationary),
              .elements = stationary.free_elements()});
  demand.add({.unit = Unit::kMultiplyMoving,
              .matmul = kind,
              .strided = is_strided(moving),
              .elements = moving.free_elements()});
  demand.multiply_accumulates =
      stationary.partitions() * stationary.free_elements() * moving.free_elements();
  return demand;
}

}  // namespace

Draft NcMatmul::draft() const {
  return make_draft(kNcMatmul, EngineKind::kAuto, {&dst, &stationary, &moving},
                    {Attribute::of(accumulate), Attribute::of(is_transpose)});
}

const InstructionType kNcMatmul = {kName, kOperands, kAttributes, choose_engine,
                                   check, run,       demand};

}  // namespace neuron_sim
