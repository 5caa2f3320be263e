#include "device/isa/movement/tensor_copy_predicated.h"

#include <bit>

#include "device/base/errors.h"
#include "device/instruction/checks.h"
#include "device/instruction/elementwise.h"
#include "device/instruction/rows.h"
#include "device/instruction/short_runs.h"

namespace neuron_sim {
namespace {

using enum TensorCopyPredicated::OperandIndex;
using enum TensorCopyPredicated::AttributeIndex;

constexpr std::string_view kName = "tensor_copy_predicated";

constexpr auto kOperands = operand_table<TensorCopyPredicated>();
constexpr auto kAttributes = attribute_table<TensorCopyPredicated>();

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kVector}, architecture);
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  const View& predicate = draft.operand(kPredicate);
  checks::source_and_dst(kName, "predicate", predicate, dst, draft.engine, architecture);
  if (predicate.dtype() != Dtype::kUint8 && predicate.dtype() != Dtype::kUint16 &&
      predicate.dtype() != Dtype::kUint32) {
    checks::dtype_error(kName, "predicate", predicate, "uint8, uint16 or uint32");
  }
  if (!src.present()) {
    return elementwise::check_constant(kName, "src", draft.attribute(kConstant).real(), dst);
  }
  checks::source_and_dst(kName, "src", src, dst, draft.engine, architecture);
  checks::not_both_in_psum(kName, "src", src, "predicate", predicate, architecture);
  if (src.dtype() != dst.dtype()) {
    checks::dtype_error(kName, "src", src, text(name(dst.dtype()), ", the dtype of dst"));
  }
}

/// The storage as plain numbers of its width, so that every bit is kept.
Access as_bits(const Access& access) {
  Access bits = access;
  const int size = itemsize(access.dtype);
  bits.dtype = size == 1 ? Dtype::kUint8 : size == 2 ? Dtype::kUint16 : Dtype::kUint32;
  return bits;
}

int64_t constant_bits(double constant, Dtype dtype) {
  std::byte storage[4];
  if (is_integer(dtype)) {
    const auto integer = static_cast<int64_t>(constant);
    store_integers(&integer, storage, dtype, 0, 1);
  } else {
    const auto number = static_cast<float>(constant);
    store_floats(&number, storage, dtype, 0, 1);
  }
  Access access;
  access.dtype = dtype;
  int64_t bits = 0;
  load_integers(storage, as_bits(access).dtype, 0, &bits, 1);
  return bits;
}

/// Among elements of four bytes, whose bits pass as those of fp32 do.
void run_words(const Instance& instance, bool wanted) {
  const Access &own = instance.operand(kDst), &other = instance.operand(kSrc),
               &predicated = instance.operand(kPredicate);
  const bool given = other.present();
  const auto choose_one = [&](float chosen, float source, float old) {
    return (std::bit_cast<uint32_t>(chosen) != 0) == wanted ? source : old;
  };
  if (given && map_short_runs<3>(own, {&predicated, &other, &own}, choose_one)) return;
  const Access dst = as_words(own), src = as_words(given ? other : own);
  const Access predicate = itemsize(predicated.dtype) == 4 ? as_words(predicated) : predicated;
  RowScratch& scratch = row_scratch();
  const auto count = static_cast<size_t>(dst.elements());
  scratch.result.resize(count);
  const RowReader predicates(predicate, scratch.first), sources(src, scratch.second),
      olds(dst, scratch.third);
  const RowWriter writer(dst, scratch.result);
  float* const result = scratch.result.data();
  const auto constant = static_cast<uint32_t>(
      given ? 0 : constant_bits(instance.attribute(kConstant).real(), own.dtype));
  for (int64_t p = 0; p < dst.partitions; ++p) {
    const float *const chosen = predicates(p), *const source = sources(p), *const old = olds(p);
    const auto choose = [&](auto value) {
      for (size_t i = 0; i < count; ++i) {
        const float new_one = value(i), old_one = old[i];  // both are read, whichever is chosen
        result[i] = (std::bit_cast<uint32_t>(chosen[i]) != 0) == wanted ? new_one : old_one;
      }
    };
    given ? choose([&](size_t i) { return source[i]; })
          : choose([&](size_t) { return std::bit_cast<float>(constant); });
    writer.write(p, result);
  }
}

void run(const Instance& instance) {
  const bool wanted = !instance.attribute(kReverse).flag();
  if (itemsize(instance.operand(kDst).dtype) == 4) return run_words(instance, wanted);
  const Access dst = as_bits(instance.operand(kDst));
  const Access src = as_bits(instance.operand(kSrc));
  const int64_t constant =
      constant_bits(instance.attribute(kConstant).real(), instance.operand(kDst).dtype);
  RowScratch& scratch = row_scratch();
  const int64_t count = dst.elements();
  for (int64_t p = 0; p < dst.partitions; ++p) {
    // uint32 rounds to fp32 on the way, but only 0 becomes 0.
    const float* predicate = read_row(instance.operand(kPredicate), p, scratch.first);
    read_integer_row(dst, p, scratch.result_integers);
    int64_t* result = scratch.result_integers.data();
    if (src.present()) {
      const int64_t* values = read_integer_row(src, p, scratch.first_integers);
      for (int64_t i = 0; i < count; ++i) {
        result[i] = (predicate[i] != 0) == wanted ? values[i] : result[i];
      }
    } else {
      for (int64_t i = 0; i < count; ++i) {
        result[i] = (predicate[i] != 0) == wanted ? constant : result[i];
      }
    }
    write_integer_row(dst, p, result);
  }
}

/// docs/hardware_facts.md#tensor_copy_predicated; with a constant one input remains (assumed).
Demand demand(const Draft& draft, const Architecture&) {
  const View& dst = draft.operand(kDst);
  const View& src = draft.operand(kSrc);
  const View& predicate = draft.operand(kPredicate);
  if (!src.present()) {
    return elementwise::demand(RateClass::kOneInput, predicate, {&dst, &predicate});
  }
  const bool psum = src.memory() == MemoryKind::kPsum || predicate.memory() == MemoryKind::kPsum;
  const View& main = predicate.memory() == MemoryKind::kPsum ? predicate : src;
  return elementwise::demand(psum ? RateClass::kTwoInputsPsum : RateClass::kTwoInputs, main,
                             {&dst, &src, &predicate});
}

}  // namespace

Draft TensorCopyPredicated::draft() const { return draft_of(kTensorCopyPredicated, *this); }

constinit const InstructionType kTensorCopyPredicated = {
    kName, kOperands, kAttributes, fixed_engine<EngineKind::kVector>, check, run, demand};

}  // namespace neuron_sim
