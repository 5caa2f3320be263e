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

template <typename T, size_t... i>
void bind(nb::class_<Builder>& builder, const InstructionType& type, std::index_sequence<i...>) {
  using All = Parameters<T>;
  const auto method =
      [](Builder& self,
         typename PythonParameter<typename All::template Type<i>>::Argument... values) {
        T instruction;
        (PythonParameter<typename All::template Type<i>>::set(
             All::template kOne<i>, instruction, std::forward<decltype(values)>(values)),
         ...);
        self.emit(instruction);
      };
  builder.def(type.name.data(), method,
              PythonParameter<typename All::template Type<i>>::template argument<
                  All::template kOne<i>>()...,
              "Emits the instruction; docs/instructions.md says what it computes.");
}

}  // namespace

void bind_instructions(nb::class_<Builder>& builder) {
  const auto each = [&]<typename T>(const ListedInstruction<T>& listed) {
    if constexpr (requires { T::fields(); }) {
      constexpr size_t kCount = std::tuple_size_v<decltype(Parameters<T>::kAll)>;
      bind<T>(builder, *listed.type, std::make_index_sequence<kCount>());
    }
  };
  std::apply([&](const auto&... listed) { (each(listed), ...); }, kInstructions);
}

}  // namespace neuron_sim
