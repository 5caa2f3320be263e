#pragma once
// A kernel as its callers see it: one function that emits it for operands, results and options.
//
// Options are a struct whose fields are listed by name in `kFields`, in order. A list whose length
// differs from the struct's does not compile, so nothing that decides a program is left out of the
// cache key. A name is that of the option for callers (ops/contract/named_kernel.h); "b|a" defaults
// to option a, "" is not for callers.

#include <array>
#include <bit>
#include <tuple>
#include <type_traits>

#include "device/runtime/kernel_cache.h"
#include "ops/contract/hbm_tensor.h"

namespace neuron_sim {

/// Emits one kernel: reads operands, writes all of the results. A plain function: apart from the
/// tensors, it depends only on the options.
template <typename Options>
using Emit = void (*)(Builder&, HbmTensors operands, HbmTensors results, const Options&);

/// Options of a kernel that its tensors alone determine.
struct NoOptions {};
template <void (*emit)(Builder&, HbmTensors operands, HbmTensors results)>
void without_options(Builder& builder, HbmTensors operands, HbmTensors results, const NoOptions&) {
  emit(builder, operands, results);
}

/// Calls visit(name, field) for every field of a struct with `kFields`.
template <typename Options, typename Visit>
void for_each_field(Options& options, const Visit& visit) {
  constexpr size_t kCount = std::tuple_size_v<std::decay_t<decltype(Options::kFields)>>;
  const auto visit_all = [&](auto&... fields) {
    size_t i = 0;
    (visit(Options::kFields[i++], fields), ...);
  };
  // A structured binding names every field, or does not compile.
  if constexpr (kCount == 1) {
    auto& [a] = options;
    visit_all(a);
  } else if constexpr (kCount == 2) {
    auto& [a, b] = options;
    visit_all(a, b);
  } else if constexpr (kCount == 3) {
    auto& [a, b, c] = options;
    visit_all(a, b, c);
  } else if constexpr (kCount == 4) {
    auto& [a, b, c, d] = options;
    visit_all(a, b, c, d);
  } else if constexpr (kCount == 5) {
    auto& [a, b, c, d, e] = options;
    visit_all(a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    auto& [a, b, c, d, e, f] = options;
    visit_all(a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    auto& [a, b, c, d, e, f, g] = options;
    visit_all(a, b, c, d, e, f, g);
  } else {
    auto& [a, b, c, d, e, f, g, h] = options;
    visit_all(a, b, c, d, e, f, g, h);
  }
}

/// Adds an option and all its parts to the cache key of a compiled kernel.
template <typename Value>
void add_option(KernelKey& key, const Value& value) {
  if constexpr (std::is_integral_v<Value> || std::is_enum_v<Value>) {
    key.add(static_cast<int64_t>(value));
  } else if constexpr (std::is_same_v<Value, double>) {
    key.add(std::bit_cast<int64_t>(value));
  } else if constexpr (requires { Value::kFields; }) {
    for_each_field(value, [&](const char*, const auto& field) { add_option(key, field); });
  } else if constexpr (requires { value.key(); }) {
    key.add(value.key());
  } else if constexpr (requires { value.has_value(); }) {
    key.add(static_cast<int64_t>(value.has_value()));
    if (value) add_option(key, *value);
  } else {
    key.add(static_cast<int64_t>(value.size()));
    for (const auto& element : value) add_option(key, element);
  }
}

/// The kernel for these options.
template <typename Options>
EmitKernel with_options(Emit<Options> emit, const Options& options) {
  return [emit, options](Builder& builder, HbmTensors operands, HbmTensors results) {
    emit(builder, operands, results, options);
  };
}

}  // namespace neuron_sim
