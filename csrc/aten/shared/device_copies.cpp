#include "csrc/aten/shared/device_copies.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <limits>
#include <memory>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/rows.h"
#include "csrc/launch/execution.h"
#include "csrc/launch/kernel_call.h"
#include "csrc/launch/storage.h"
#include "csrc/launch/tensor_access.h"
#include "csrc/launch/transfer.h"
#include "device/memory/write_watch.h"
#include "device/runtime/timing_only.h"
#include "ops/copies/copy.h"
#include "ops/copies/rows_by_index.h"

namespace neuron_sim {
namespace {

using at::Tensor;

/// Whole numbers modulo the 8 or 16 bits of `type`, as torch's CPU converts them; the engines would
/// saturate. Exact in fp32 for every number.
ElementValue wrapped(Expression& e, ElementValue whole, at::ScalarType type) {
  if (c10::elementSize(type) > 2) return whole;
  const double size = c10::elementSize(type) == 1 ? 256 : 65536;
  const ElementValue turns = whole * (1 / size), nearest = e.round(turns);
  const ElementValue rest = whole - (nearest - compare(AluOp::kGreater, nearest, turns)) * size;
  const bool has_sign = type != at::kByte && type != at::kUInt16;
  return has_sign ? rest - compare(AluOp::kGreaterEqual, rest, size / 2) * size : rest;
}

/// Conversions of torch: floats lose their fraction, integers wrap, bool is "not zero".
Expression cast(at::ScalarType from, at::ScalarType to) {
  const bool whole = c10::isIntegralType(from, true), to_whole = c10::isIntegralType(to, false);
  if (to == at::kBool) {
    return make_expression([](Expression& e) { return compare(AluOp::kNotEqual, e.input(0), 0); });
  }
  if (whole && to_whole) {
    Expression expression(Domain::kInteger);
    expression.add_result(expression.input(0));
    return expression;
  }
  return make_expression([&](Expression& e) {
    if (!to_whole) return e.input(0);
    const ElementValue x = e.input(0), nearest = e.round(x);
    // Away from zero: a step back.
    const ElementValue above = nearest - compare(AluOp::kGreater, nearest, x);
    const ElementValue below = nearest + compare(AluOp::kLess, nearest, x);
    return wrapped(e, select(compare(AluOp::kLess, x, 0), below, above), to);
  });
}

/// cast(), formed once for each pair of dtypes.
const FormedExpression& kept_cast(at::ScalarType from, at::ScalarType to) {
  constexpr auto kTypes = static_cast<size_t>(at::ScalarType::NumOptions);
  static std::array<std::atomic<const FormedExpression*>, kTypes * kTypes> forms{};
  auto& slot = forms[static_cast<size_t>(from) * kTypes + static_cast<size_t>(to)];
  if (const FormedExpression* const known = slot.load(std::memory_order_acquire)) return *known;
  auto made = std::make_unique<const FormedExpression>(cast(from, to));
  const FormedExpression* expected = nullptr;
  return slot.compare_exchange_strong(expected, made.get()) ? *made.release() : *expected;
}

/// Tensors of dtypes that the chip lacks, as two or four times as many 32- or 16-bit integers.
struct Words {
  at::ScalarType type;
  int64_t count;
};
Words words_of(const Tensor& tensor) {
  const int64_t size = static_cast<int64_t>(tensor.element_size());
  if (size % 4 == 0) return {at::kInt, size / 4};
  return size == 2 ? Words{at::kShort, 1} : Words{at::kByte, 1};
}

/// `tensor` with a last dimension of its words; kernels see only sizes, strides and dtype.
void add_words(KernelCall& call, const Tensor& tensor, bool result) {
  const Words words = words_of(tensor);
  at::DimVector sizes(tensor.sizes()), strides(tensor.strides());
  for (int64_t& stride : strides) stride *= words.count;
  sizes.push_back(words.count);
  strides.push_back(1);
  call.words(tensor, words.type, sizes, strides, result);
}

}  // namespace

bool copies_on_device(const Tensor& source, const Tensor& target) {
  if (!on_device(source) || source.device() != target.device()) return false;
  if (source.is_conj() != target.is_conj() || source.is_neg() != target.is_neg()) return false;
  if (source.scalar_type() == target.scalar_type()) return true;
  return is_computable(source.scalar_type()) && is_computable(target.scalar_type());
}

Tensor with_neighbours_of(const Tensor& operand, const Tensor& like) {
  if (operand.sizes() != like.sizes() || operand.numel() < kTransposedElements) return operand;
  const auto row_of = [](const Tensor& tensor) {
    int64_t dimension = tensor.dim() - 1;
    while (dimension >= 0 && (tensor.stride(dimension) != 1 || tensor.size(dimension) == 1)) {
      --dimension;
    }
    return dimension;
  };
  const int64_t row = row_of(like);
  if (row < 0 || row_of(operand) < 0 || operand.stride(row) <= 1) return operand;
  const Tensor copy = at::empty_strided(like.sizes(), like.strides(), operand.options());
  copy_on_device(operand, copy);
  return copy;
}

void copy_on_device(const Tensor& source, const Tensor& target) {
  const Tensor whole = source.sizes() == target.sizes() ? source : source.expand_as(target);
  if (source.scalar_type() == target.scalar_type()) {
    KernelCall call(kCopy.name, target.device());
    add_words(call, whole, false);
    add_words(call, target, true);
    return call.launch(kCopy);
  }
  const FormedExpression& formed = kept_cast(source.scalar_type(), target.scalar_type());
  const Tensor operand = with_neighbours_of(whole, target);
  KernelCall call("cast", target.device());
  call.operand(operand, operand.sizes(), operand.strides()).result(target);
  call.launch(formed.expression, &formed.form);
}

namespace {

/// A vector whose elements the host writes, by write(elements), and the link carries: torch's own
/// copy of a host tensor costs more than a kernel.
template <typename Element, typename Write>
Tensor uploaded(int64_t count, at::Device device, Write write) {
  const auto dtype = c10::CppTypeToScalarType<Element>::value;
  if (!runs_at_once() || count == 0) {
    const Tensor host = at::empty({count}, at::TensorOptions().dtype(dtype));
    write(host.mutable_data_ptr<Element>());
    return host.to(device);
  }
  const Tensor result = uninitialised({count}, dtype, device);
  account_to_device(device.index(), tensor_bytes(result));
  if (timing_only()) return result;
  std::byte* const begin = backing(result);
  write(reinterpret_cast<Element*>(begin));
  note_write({begin, begin + tensor_bytes(result).count});
  return result;
}

template <typename Element>
Tensor counted(int64_t count, at::Device device) {
  return uploaded<Element>(count, device, [&](Element* elements) {
    for (int64_t i = 0; i < count; ++i) elements[i] = static_cast<Element>(i);
  });
}

}  // namespace

Tensor counted_places(int64_t count, at::ScalarType dtype, at::Device device) {
  if (dtype == at::kLong) return counted<int64_t>(count, device);
  return dtype == at::kInt ? counted<int32_t>(count, device) : counted<float>(count, device);
}

void gather_selected(const Tensor& self,
                     c10::function_ref<std::vector<int64_t>(int64_t dimension)> along,
                     const Tensor& result) {
  std::vector<int64_t> order{0};
  for (int64_t dimension = 0; dimension < self.dim(); ++dimension) {
    const std::vector<int64_t> chosen = along(dimension);
    std::vector<int64_t> longer;
    longer.reserve(order.size() * chosen.size());
    for (const int64_t row : order) {
      for (const int64_t place : chosen) longer.push_back(row * self.size(dimension) + place);
    }
    order = std::move(longer);
  }
  const auto write = [&](int64_t* elements) { std::copy(order.begin(), order.end(), elements); };
  const auto count = static_cast<int64_t>(order.size());
  gather_elements(self.contiguous(), uploaded<int64_t>(count, self.device(), write), result);
}

namespace {

/// Kernels read row numbers of 32 bits, which is enough for the rows of such a table.
void check_row_count(const Tensor& table) {
  TORCH_CHECK_INDEX(table.size(0) > 0, "index out of range in self");
  if (table.size(0) > std::numeric_limits<int32_t>::max()) {
    throw Refusal{"the chip's indices have 32 bits, which do not number so many rows"};
  }
}

}  // namespace

void gather_rows(const Tensor& table, const Tensor& indices, const Tensor& result) {
  if (result.numel() == 0) return;
  check_row_count(table);
  KernelCall call(kGatherRows.name, table.device());
  call.operand(table, table.sizes(), table.strides()).indices(indices).result(result);
  call.launch(kGatherRows);
}

void gather_elements(const Tensor& self, const Tensor& indices, const Tensor& result) {
  const auto one_per_row = [](const Tensor& tensor) { return tensor.view({-1, 1}); };
  const bool direct = result.is_contiguous();
  const Tensor found = direct ? result : at::empty(result.sizes(), result.options());
  gather_rows(one_per_row(self), indices.reshape(-1), one_per_row(found));
  if (!direct) result.copy_(found);
}

void scatter_rows(const Tensor& table, const Tensor& indices, const Tensor& source, bool add) {
  if (source.numel() == 0) return;
  check_row_count(table);
  KernelCall call(kScatterRows.name, table.device());
  call.indices(indices).operand(source, source.sizes(), source.strides()).result(table);
  call.launch(kScatterRows, {add});
}

}  // namespace neuron_sim
