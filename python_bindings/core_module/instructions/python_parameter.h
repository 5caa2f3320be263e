#pragma once
// How Python passes the declared fields of an instruction (device/instruction/fields.h).

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <string>
#include <string_view>
#include <vector>

#include "device/base/errors.h"
#include "device/instruction/fields.h"
#include "python_bindings/core_module/instructions/names.h"
#include "python_bindings/core_module/instructions/operand_arguments.h"

namespace neuron_sim {

/// `Argument`: the type that nanobind converts to; set() writes it to the instruction;
/// standard<declaration>() is the struct's default; it is not read where the
/// parameter is required, or with takes_none(), where it is None.
template <typename Declaration>
struct PythonParameter;

/// A value that goes by name, such as an engine.
template <typename V>
concept Named = requires(V value, std::string_view name) {
  value_named(name, value);
  name_of(value);
};

template <typename T>
struct PythonParameter<OperandDeclaration<T>> {
  using Argument = const View*;
  static void set(const OperandDeclaration<T>& to, T& instruction, const View* view) {
    if (view != nullptr) instruction.*to.member = *view;
  }
  static constexpr bool is_required(const OperandDeclaration<T>& of) { return !of.field.optional; }
  static constexpr bool takes_none(const OperandDeclaration<T>& of) { return of.field.optional; }
};

template <typename T>
struct PythonParameter<TileOrNumberDeclaration<T>> {
  using Argument = const nanobind::object&;
  static void set(const TileOrNumberDeclaration<T>& to, T& instruction,
                  const nanobind::object& value) {
    set_operand(to.name, value, instruction.*to.tile, instruction.*to.number);
  }
  static constexpr bool is_required(const TileOrNumberDeclaration<T>& of) { return of.is_required; }
  static constexpr bool takes_none(const TileOrNumberDeclaration<T>& of) { return of.takes_none; }
  template <const auto& declaration>
  static nanobind::object standard() {
    return nanobind::cast(T{}.*declaration.number);
  }
};

template <typename T>
struct PythonParameter<OutOfBoundsDeclaration<T>> {
  using Argument = std::string_view;
  static void set(const OutOfBoundsDeclaration<T>& to, T& instruction, std::string_view mode) {
    instruction.*to.member = skips_out_of_bounds(mode);
  }
  static constexpr bool is_required(const OutOfBoundsDeclaration<T>&) { return false; }
  static constexpr bool takes_none(const OutOfBoundsDeclaration<T>&) { return false; }
  template <const auto& declaration>
  static nanobind::object standard() {
    return nanobind::cast("error");
  }
};

/// Of attributes and other parameters.
template <typename Declaration, typename T, typename V>
struct PythonValue {
  static constexpr bool kIsNamed = Named<V>;
  using Argument = std::conditional_t<kIsNamed, std::string_view, V>;
  static void set(const Declaration& to, T& instruction, Argument value) {
    if constexpr (kIsNamed) {
      value_named(value, instruction.*to.member);
    } else {
      instruction.*to.member = std::move(value);
    }
  }
  static constexpr bool is_required(const Declaration& of) { return of.is_required; }
  static constexpr bool takes_none(const Declaration&) {
    return !kIsNamed && requires(V value) { value.has_value(); };
  }
  template <const auto& declaration>
  static nanobind::object standard() {
    if constexpr (kIsNamed) {
      return nanobind::cast(name_of(T{}.*declaration.member));
    } else {
      return nanobind::cast(T{}.*declaration.member);
    }
  }
};
template <typename T, typename V>
struct PythonParameter<AttributeDeclaration<T, V>> : PythonValue<AttributeDeclaration<T, V>, T, V> {
};
template <typename T, typename V>
struct PythonParameter<ParameterDeclaration<T, V>> : PythonValue<ParameterDeclaration<T, V>, T, V> {
};
/// A list: None keeps the struct's default, unless it is required.
template <typename T, typename E>
struct PythonParameter<ParameterDeclaration<T, std::vector<E>>> {
  using Declaration = ParameterDeclaration<T, std::vector<E>>;
  using Argument = std::optional<std::vector<E>>;
  static void set(const Declaration& to, T& instruction, Argument value) {
    if (value) {
      instruction.*to.member = std::move(*value);
    } else if (to.is_required) {
      fail(text("parameter '", to.name, "' is None, not a list."), ErrorKind::kType);
    }
  }
  static constexpr bool is_required(const Declaration& of) { return of.is_required; }
  static constexpr bool takes_none(const Declaration& of) { return !of.is_required; }
};

}  // namespace neuron_sim
