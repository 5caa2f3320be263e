#include "python_bindings/core_module/instructions/instruction_methods.h"

#include "device/isa/list.h"
#include "python_bindings/core_module/instructions/python_parameter.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

/// The declared fields that Python passes.
template <typename T>
constexpr auto parameters() {
  const auto kept = [](const auto& each) {
    if constexpr (std::remove_cvref_t<decltype(each)>::kIsParameter) {
      return std::tuple{each};
    } else {
      return std::tuple{};
    }
  };
  return std::apply([&](const auto&... each) { return std::tuple_cat(kept(each)...); },
                    T::fields());
}

template <typename T>
struct Parameters {
  static constexpr auto kAll = parameters<T>();
  template <size_t i>
  using Type = std::remove_cvref_t<decltype(std::get<i>(kAll))>;
  template <size_t i>
  static constexpr Type<i> kOne = std::get<i>(kAll);
};

template <typename T, size_t i>
struct Parameter : PythonParameter<typename Parameters<T>::template Type<i>> {
  using Base = PythonParameter<typename Parameters<T>::template Type<i>>;
  static constexpr const auto& kDeclared = Parameters<T>::template kOne<i>;
  static constexpr bool kIsRequired = Base::is_required(kDeclared);

  static constexpr bool kTakesNone = Base::takes_none(kDeclared);

  /// Name and default, as nanobind takes them.
  static auto argument() {
    if constexpr (kIsRequired && kTakesNone) {
      return nb::arg(kDeclared.name).none();
    } else if constexpr (kIsRequired) {
      return nb::arg(kDeclared.name);
    } else if constexpr (kTakesNone) {
      return nb::arg(kDeclared.name) = nb::none();
    } else {
      return nb::arg(kDeclared.name) = Base::template standard<kDeclared>();
    }
  }
  /// (name, whether it is required, default).
  static nb::tuple row() {
    nb::object standard = nb::none();
    if constexpr (!kIsRequired && !kTakesNone) standard = Base::template standard<kDeclared>();
    return nb::make_tuple(kDeclared.name, kIsRequired, standard);
  }
};

/// Sets parameter `i` from an argument of exactly its type; false for any other.
template <typename T, size_t i>
bool set_plain(T& instruction, PyObject* const* arguments, size_t count) {
  using P = Parameter<T, i>;
  if (i >= count && (P::kIsRequired || !P::kTakesNone)) return !P::kIsRequired;
  PyObject* argument = i < count ? arguments[i] : Py_None;
  if (!P::kTakesNone || argument != Py_None) {
    return P::set_plain(P::kDeclared, instruction, argument);
  }
  if constexpr (requires { P::set_none(P::kDeclared, instruction); }) {
    P::set_none(P::kDeclared, instruction);
  }
  return true;
}

template <typename T, size_t... i>
bool emit_plain(Builder& builder, PyObject* const* arguments, size_t count) {
  T instruction;
  if (count > sizeof...(i) || !(set_plain<T, i>(instruction, arguments, count) && ...)) {
    return false;
  }
  builder.emit(instruction);
  return true;
}

template <typename T, size_t... i>
void bind(nb::class_<Builder>& builder, const InstructionType& type, std::index_sequence<i...>) {
  const auto method = [](Builder& self, typename Parameter<T, i>::Argument... values) {
    T instruction;
    (Parameter<T, i>::set(Parameter<T, i>::kDeclared, instruction,
                          std::forward<decltype(values)>(values)),
     ...);
    self.emit(instruction);
  };
  builder.def(type.name.data(), method, Parameter<T, i>::argument()...,
              "Emits the instruction; docs/instructions.md says what it computes.");
}

/// Calls visit<T>(type, indices of the parameters) for each instruction with declared fields.
template <typename Visit>
void for_each_declared(const Visit& visit) {
  const auto each = [&]<typename T>(const ListedInstruction<T>& listed) {
    if constexpr (requires { T::fields(); }) {
      constexpr size_t kCount = std::tuple_size_v<decltype(Parameters<T>::kAll)>;
      visit.template operator()<T>(*listed.type, std::make_index_sequence<kCount>());
    }
  };
  std::apply([&](const auto&... listed) { (each(listed), ...); }, kInstructions);
}

}  // namespace

void bind_instructions(nb::class_<Builder>& builder) {
  for_each_declared([&]<typename T>(const InstructionType& type, auto indices) {
    bind<T>(builder, type, indices);
  });
}

PlainEmission plain_emission(std::string_view instruction) {
  PlainEmission found = nullptr;
  for_each_declared(
      [&]<typename T, size_t... i>(const InstructionType& type, std::index_sequence<i...>) {
        if (type.name == instruction) found = &emit_plain<T, i...>;
      });
  return found;
}

nb::dict instruction_parameters() {
  nb::dict result;
  for_each_declared(
      [&]<typename T, size_t... i>(const InstructionType& type, std::index_sequence<i...>) {
        result[type.name.data()] = nb::make_tuple(Parameter<T, i>::row()...);
      });
  return result;
}

}  // namespace neuron_sim
