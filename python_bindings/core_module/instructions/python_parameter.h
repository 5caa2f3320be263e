#pragma once
// How Python passes the declared fields of an instruction (device/instruction/fields.h).

#include <nanobind/nanobind.h>
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <nanobind/stl/vector.h>

#include <concepts>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "device/base/errors.h"
#include "device/instruction/fields.h"
#include "python_bindings/core_module/instructions/names.h"
#include "python_bindings/core_module/instructions/operand_arguments.h"

namespace neuron_sim {

/// `Argument`: the type that nanobind converts to; set() writes it to the instruction; set_plain()
/// writes an object of exactly the type that Python has for it, and is false for any other;
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

/// The View of a Python object; null when it is another object.
inline const View* plain_view(PyObject* object) {
  static PyTypeObject* type = reinterpret_cast<PyTypeObject*>(nanobind::type<View>().ptr());
  return Py_TYPE(object) == type ? nanobind::inst_ptr<View>(object) : nullptr;
}

/// The characters of a str, empty with false for another object.
inline bool plain_word(PyObject* object, std::string_view& word) {
  if (PyUnicode_CheckExact(object) == 0 || PyUnicode_IS_COMPACT_ASCII(object) == 0) return false;
  word = {static_cast<const char*>(PyUnicode_DATA(object)),
          static_cast<size_t>(PyUnicode_GET_LENGTH(object))};
  return true;
}

/// Numbers and flags of exactly the type that Python has for `V`; false for other objects.
template <typename V>
bool set_plain_value(V& value, PyObject* object) {
  if constexpr (std::same_as<V, bool>) {
    value = object == Py_True;
    return PyBool_Check(object) != 0;
  } else if constexpr (std::same_as<V, double>) {
    if (PyFloat_CheckExact(object) == 0) return false;
    value = PyFloat_AS_DOUBLE(object);
    return true;
  } else if constexpr (std::integral<V>) {
    if (PyLong_CheckExact(object) == 0) return false;
    int overflow = 0;
    const long long number = PyLong_AsLongLongAndOverflow(object, &overflow);
    value = static_cast<V>(number);
    return overflow == 0 && std::in_range<V>(number);
  } else if constexpr (std::same_as<V, std::optional<bool>>) {
    value = object == Py_True;
    return PyBool_Check(object) != 0;
  } else {
    return false;
  }
}

template <typename T>
struct PythonParameter<OperandDeclaration<T>> {
  using Argument = const View*;
  static bool set_plain(const OperandDeclaration<T>& to, T& instruction, PyObject* object) {
    const View* view = plain_view(object);
    if (view != nullptr) instruction.*to.member = *view;
    return view != nullptr;
  }
  static void set(const OperandDeclaration<T>& to, T& instruction, const View* view) {
    if (view != nullptr) instruction.*to.member = *view;
  }
  static constexpr bool is_required(const OperandDeclaration<T>& of) { return !of.field.optional; }
  static constexpr bool takes_none(const OperandDeclaration<T>& of) { return of.field.optional; }
};

template <typename T>
struct PythonParameter<TileOrNumberDeclaration<T>> {
  using Argument = const nanobind::object&;
  static bool set_plain(const TileOrNumberDeclaration<T>& to, T& instruction, PyObject* object) {
    if (set_plain_value(instruction.*to.number, object)) return true;
    const View* view = plain_view(object);
    if (view != nullptr) instruction.*to.tile = *view;
    return view != nullptr;
  }
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
  static bool set_plain(const OutOfBoundsDeclaration<T>& to, T& instruction, PyObject* object) {
    std::string_view mode;
    if (!plain_word(object, mode)) return false;
    set(to, instruction, mode);
    return true;
  }
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

/// How Python passes attributes and other parameters.
template <typename Declaration, typename T, typename V>
struct PythonValue {
  static constexpr bool kIsNamed = Named<V>;
  using Argument = std::conditional_t<kIsNamed, std::string_view, V>;
  /// What set() does with None.
  static void set_none(const Declaration& to,
                       T& instruction) requires(requires(V value) { value.has_value(); }) {
    instruction.*to.member = {};
  }
  static bool set_plain(const Declaration& to, T& instruction, PyObject* object) {
    if constexpr (kIsNamed) {
      std::string_view word;
      if (!plain_word(object, word)) return false;
      value_named(word, instruction.*to.member);
      return true;
    } else {
      return set_plain_value(instruction.*to.member, object);
    }
  }
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
  static bool set_plain(const Declaration&, T&, PyObject*) { return false; }
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
