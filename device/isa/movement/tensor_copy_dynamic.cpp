// tensor_copy_dynamic_src and tensor_copy_dynamic_dst: copies from and to a slice whose start is a
// number in memory.

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/isa/movement/tensor_copy_dynamic_dst.h"
#include "device/isa/movement/tensor_copy_dynamic_src.h"

namespace neuron_sim {
namespace {

enum OperandIndex { kDst, kSrc, kOffset };
static_assert(int{kOffset} == TensorCopyDynamicSrc::kOffset &&
              int{kOffset} == TensorCopyDynamicDst::kOffset);

template <typename T>
constexpr auto kOperands = operand_table<T>();

/// The operand that is as large as the slice of `region`.
constexpr OperandIndex other_than(OperandIndex region) { return region == kSrc ? kDst : kSrc; }

/// The region and the other operand have the same partitions, rank and free sizes except for the
/// first free dimension, where the region is at least as large; the offset is one int32 or uint32
/// in SBUF.
template <OperandIndex region_index>
void check(const Draft& draft, const Architecture& architecture) {
  constexpr OperandIndex kFixed = other_than(region_index);
  const std::string_view instruction = draft.type->name;
  const char* region_name = draft.type->operands[region_index].name;
  const char* fixed_name = draft.type->operands[kFixed].name;
  const View& region = draft.operand(region_index);
  const View& fixed = draft.operand(kFixed);
  const View& offset = draft.operand(kOffset);
  checks::engine(instruction, draft.engine,
                 {EngineKind::kVector, EngineKind::kScalar, EngineKind::kGpSimd}, architecture);
  checks::compute_operand(instruction, region_name, region, draft.engine, architecture);
  checks::compute_operand(instruction, fixed_name, fixed, draft.engine, architecture);
  checks::same_partitions(instruction, region_name, region, fixed_name, fixed);
  bool fits = region.rank() == fixed.rank() && region.rank() >= 2;
  for (int i = 2; fits && i < region.rank(); ++i) fits = region.size(i) == fixed.size(i);
  if (!fits || fixed.size(1) > region.size(1)) {
    fail(text("operand '", fixed_name, "' of '", instruction, "' (", fixed.describe(),
              ") must be a slice of operand '", region_name, "' (", region.describe(),
              ") in its first free dimension."));
  }
  checks::memory(instruction, "offset", offset, {MemoryKind::kSbuf});
  checks::start_partition(instruction, "offset", offset, architecture);
  if (offset.partitions() != 1 || offset.free_elements() != 1) {
    fail(text("operand 'offset' of '", instruction, "' is ", offset.describe(),
              ", but must have one element."));
  }
  if (!elementwise::is_32bit_integer(offset.dtype())) {
    checks::dtype_error(instruction, "offset", offset, "int32 or uint32");
  }
}

/// As many elements of the first free dimension of `region` as `like` has, from the one that
/// `offset` holds. KernelError (kIndex) in the vendor's wording when not all are in the region.
Access slice_of(const char* region_name, const Access& region, const Access& offset,
                const Access& like) {
  int64_t start = 0;
  load_integers(offset.partition(0), offset.dtype, 0, &start, 1);
  const int64_t size = like.free[0].size;
  if (start < 0 || start + size > region.free[0].size) {
    fail(text("Out-of-bound access for tensor `", region_name, "` on dimension 1: index range [",
              start, ", ", start + size - 1, "] exceed dimension size of ", region.free[0].size),
         ErrorKind::kIndex);
  }
  Access slice = region;
  slice.data += start * region.free[0].stride;
  slice.free[0].size = size;
  slice.widened = nullptr;  // of the whole region
  return slice;
}

template <OperandIndex region>
void run(const Instance& instance) {
  const Access& fixed = instance.operand(other_than(region));
  const Access slice = slice_of(region == kSrc ? "src" : "dst", instance.operand(region),
                                instance.operand(kOffset), fixed);
  const bool exact = elementwise::copies_bits(instance.engine, *instance.architecture);
  cast_rows(region == kSrc ? slice : fixed, region == kSrc ? fixed : slice, exact);
}

/// The time of a copy of the slice has the minimum of data-dependent addresses (max(600, elements)
/// cycles, docs/hardware_facts.md#tensor_copy_dynamic_src).
template <OperandIndex region>
Demand demand(const Draft& draft, const Architecture&) {
  const RateClass rate =
      draft.engine == EngineKind::kGpSimd ? RateClass::kGpSimdOneInput : RateClass::kOneInput;
  const View& src = draft.operand(kSrc);
  Demand result = elementwise::demand(rate, src, {&src, &draft.operand(kDst)});
  result.steps[0].elements = draft.operand(other_than(region)).free_elements();
  result.steps[0].dynamic_address = true;
  return result;
}

template <typename T, OperandIndex region>
constexpr InstructionType type_of() {
  return {T::kName,    kOperands<T>,  {}, fixed_engine<EngineKind::kVector>, check<region>,
          run<region>, demand<region>};
}

}  // namespace

Draft TensorCopyDynamicSrc::draft() const { return draft_of(kTensorCopyDynamicSrc, *this); }
Draft TensorCopyDynamicDst::draft() const { return draft_of(kTensorCopyDynamicDst, *this); }

constinit const InstructionType kTensorCopyDynamicSrc = type_of<TensorCopyDynamicSrc, kSrc>();
constinit const InstructionType kTensorCopyDynamicDst = type_of<TensorCopyDynamicDst, kDst>();

}  // namespace neuron_sim
