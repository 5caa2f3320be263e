#include "device/isa/tensor/quantize_mx.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/pattern.h"
#include "device/instruction/rows.h"
#include "device/isa/tensor/microscaling.h"
#include "device/numerics/packed.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "quantize_mx";
constexpr int64_t kFirstGeneration = 4;
constexpr int kScaleBias = 127;
constexpr int64_t kNanScale = 255;
using enum QuantizeMx::OperandIndex;
constexpr auto kOperands = operand_table<QuantizeMx>();

void check(const Draft& draft, const Architecture& architecture) {
  if (!architecture.features.microscaling) {
    checks::generation(kName, kFirstGeneration, architecture);
  }
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  for (const QuantizeMx::OperandIndex operand : {kDst, kSrc}) {
    const View& view = draft.operand(operand);
    const std::string_view field = kOperands[operand].name;
    checks::memory(kName, field, view, {MemoryKind::kSbuf});
    checks::whole_quadrants(kName, field, view, architecture);
    checks::free_size(kName, field, view, architecture);
    checks::start_partition(kName, field, view, architecture);
  }
  if (src.dtype() != Dtype::kFloat16 && src.dtype() != Dtype::kBfloat16) {
    checks::dtype_error(kName, "src", src, "float16 or bfloat16");
  }
  if (dst.dtype() != Dtype::kFloat8E5m2X4 && dst.dtype() != Dtype::kFloat8E4m3fnX4) {
    checks::dtype_error(kName, "dst", dst, "float8_e5m2_x4 or float8_e4m3fn_x4");
  }
  checks::same_partitions(kName, "dst", dst, "src", src);
  if (src.free_elements() != dst.free_elements() * kPackedValues) {
    fail(text("operand 'src' of 'quantize_mx' is ", src.describe(), ", but dst ", dst.describe(),
              " holds ", dst.free_elements() * kPackedValues, " values per partition."));
  }
  checks::scale_tile(kName, "dst_scale", draft.operand(kDstScale), "dst", dst.partitions(),
                     dst.free_elements());
}

/// The biased exponent of X for a group whose largest magnitude has these fp32 bits.
int64_t scale_of(uint32_t largest, int largest_exponent) {
  if (largest >= 0x7f800000u) return kNanScale;
  if (largest == 0) return 0;
  const int exponent = std::ilogb(std::bit_cast<float>(largest)) - (largest_exponent - 1);
  return std::max(exponent + kScaleBias, 0);
}

/// Scales of the groups in partitions [first, first + 8): one per four elements.
void find_scales(const Access& src, int64_t first, int largest_exponent,
                 std::vector<int64_t>& scales) {
  std::vector<uint32_t> largest(scales.size());
  for (int64_t p = first; p < first + kGroupPartitions; ++p) {
    const float* row = read_row(src, p, row_scratch().first);
    for (size_t i = 0; i < largest.size() * kPackedValues; ++i) {
      uint32_t& group = largest[i / kPackedValues];
      group = std::max(group, std::bit_cast<uint32_t>(row[i]) & 0x7fffffffu);
    }
  }
  std::transform(largest.begin(), largest.end(), scales.begin(),
                 [&](uint32_t bits) { return scale_of(bits, largest_exponent); });
}

void write_packed_row(const Access& dst, int64_t partition, const float* values) {
  const Pattern pattern = free_pattern(dst);
  for (int64_t run = 0; run < pattern.runs(); ++run, values += pattern.length * kPackedValues) {
    store_packed(values, dst.partition(partition) + pattern.offset(run), dst.dtype, pattern.stride,
                 pattern.length);
  }
}

void run(const Instance& instance) {
  const Access& dst = instance.operand(kDst);
  const Access& src = instance.operand(kSrc);
  Access scale = instance.operand(kDstScale);
  scale.dtype = Dtype::kUint8;  // the bits of the exponent
  const int largest_exponent = dst.dtype == Dtype::kFloat8E4m3fnX4 ? 8 : 15;
  RowScratch& scratch = row_scratch();
  std::vector<int64_t>& scales = scratch.result_integers;
  scales.assign(static_cast<size_t>(dst.elements()), 0);
  scratch.result.resize(scales.size() * kPackedValues);
  for (int64_t first = 0; first < src.partitions; first += kGroupPartitions) {
    find_scales(src, first, largest_exponent, scales);
    write_integer_row(scale, scale_row(first), scales.data());
    for (int64_t p = first; p < first + kGroupPartitions; ++p) {
      const float* row = read_row(src, p, scratch.first);
      for (size_t i = 0; i < scratch.result.size(); ++i) {
        const int64_t bits = scales[i / kPackedValues];
        const int exponent = bits == kNanScale ? 0 : kScaleBias - static_cast<int>(bits);
        scratch.result[i] = std::ldexp(row[i], exponent);
      }
      write_packed_row(dst, p, scratch.result.data());
    }
  }
}

Demand demand(const Draft& draft, const Architecture&) {
  const View& src = draft.operand(kSrc);
  Demand demand;
  demand.add({.unit = Unit::kElementwise,
              .rate = RateClass::kCopy16bit,  // four elements per cycle
              .strided = is_strided(src),
              .elements = src.free_elements()});
  return demand;
}

}  // namespace

Draft QuantizeMx::draft() const { return draft_of(kQuantizeMx, *this); }

const InstructionType kQuantizeMx = {kName, kOperands, {},    fixed_engine<EngineKind::kVector>,
                                     check, run,       demand};

}  // namespace neuron_sim
