#pragma once
// The fields of an instruction, declared once in its struct: the tables of operands and attributes,
// the draft and the parameters of the Python method follow from them.
//
//   struct TensorCopy {
//     View dst, src;
//     EngineKind engine = EngineKind::kAuto;
//     enum OperandIndex { kDst, kSrc };
//     static constexpr auto fields() {
//       using T = TensorCopy;
//       return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
//                         operand<kSrc>("src", Direction::kRead, &T::src), engine_of(&T::engine)};
//     }
//   };
//
// The order of the list is the order of the parameters; the indices are positions in the tables.
// An operand whose undefined elements reach only the elements of dst at their place says so,
// .undefined_elements(UndefinedUse::kPassedOn), unless the instruction is as_elementwise().

#include <array>
#include <concepts>
#include <optional>
#include <tuple>
#include <type_traits>

#include "device/instruction/instruction_type.h"
#include "device/numerics/operators.h"

namespace neuron_sim {

/// Value of an optional attribute that was not given.
inline constexpr int64_t kNotGiven = -1;

/// How an attribute of type `V` is stored.
template <typename V>
constexpr AttributeKind kind_of_attribute() {
  if constexpr (std::same_as<V, bool>) return AttributeKind::kFlag;
  if constexpr (std::same_as<V, double>) return AttributeKind::kReal;
  if constexpr (std::same_as<V, AluOp>) return AttributeKind::kAluOp;
  if constexpr (std::same_as<V, Activation>) return AttributeKind::kActivation;
  if constexpr (std::same_as<V, std::optional<DescriptorKind>>) return AttributeKind::kDescriptor;
  return AttributeKind::kInteger;
}

template <typename V>
Attribute stored(const V& value) {
  return Attribute::of(value);
}
template <typename V>
Attribute stored(const std::optional<V>& value) {
  return Attribute::of(value ? static_cast<int64_t>(*value) : kNotGiven);
}

/// `declaration` after `change`.
template <typename Declaration>
constexpr Declaration changed(Declaration declaration, auto change) {
  change(declaration);
  return declaration;
}

/// A tile or tensor. An optional one may be absent.
template <typename T>
struct OperandDeclaration {
  const char* name;
  int index;
  OperandField field;
  View T::*member;

  static constexpr bool kIsParameter = true;
  constexpr void enter(auto& operands, auto&) const {
    operands[static_cast<size_t>(index)] = field;
  }
  constexpr void enter_member(auto& members) const { members[static_cast<size_t>(index)] = member; }
  void draft(const T&, Draft&) const {}
  /// What becomes of its undefined elements.
  constexpr OperandDeclaration undefined_elements(UndefinedUse use) const {
    return changed(*this, [&](OperandDeclaration& to) { to.field.undefined = use; });
  }
};

/// A parameter that is a tile [P, 1], or a number: an optional operand and an attribute.
template <typename T>
struct TileOrNumberDeclaration {
  const char* name;
  int operand_index, attribute_index;
  const char* number_name;
  View T::*tile;
  double T::*number;
  bool is_required = false;  ///< no default
  bool takes_none = true;    ///< None leaves the number as the struct initialises it
  UndefinedUse undefined = UndefinedUse::kReported;

  static constexpr bool kIsParameter = true;
  /// No default, but None may be passed.
  constexpr TileOrNumberDeclaration required_or_none() const {
    return changed(*this, [&](TileOrNumberDeclaration& to) { to.is_required = true; });
  }
  /// Neither a default nor None.
  constexpr TileOrNumberDeclaration required() const {
    return changed(*this, [&](TileOrNumberDeclaration& to) {
      to.is_required = true;
      to.takes_none = false;
    });
  }
  /// What becomes of the tile's undefined elements.
  constexpr TileOrNumberDeclaration undefined_elements(UndefinedUse use) const {
    return changed(*this, [&](TileOrNumberDeclaration& to) { to.undefined = use; });
  }
  /// The default is the number of the struct, not None.
  constexpr TileOrNumberDeclaration number_by_default() const {
    return changed(*this, [&](TileOrNumberDeclaration& to) { to.takes_none = false; });
  }
  constexpr void enter(auto& operands, auto& attributes) const {
    operands[static_cast<size_t>(operand_index)] = {name, Direction::kRead, true, -1,
                                                    true, undefined};
    attributes[static_cast<size_t>(attribute_index)] = {number_name, AttributeKind::kReal};
  }
  constexpr void enter_member(auto& members) const {
    members[static_cast<size_t>(operand_index)] = tile;
  }
  void draft(const T& from, Draft& to) const {
    to.attributes[static_cast<size_t>(attribute_index)] = Attribute::of(from.*number);
  }
};

/// An immediate.
template <typename T, typename V>
struct AttributeDeclaration {
  using Value = V;
  const char* name;
  int index;
  V T::*member;
  AttributeKind kind = kind_of_attribute<V>();
  bool is_required = false;

  static constexpr bool kIsParameter = true;
  constexpr AttributeDeclaration required() const {
    return changed(*this, [&](AttributeDeclaration& to) { to.is_required = true; });
  }
  constexpr AttributeDeclaration of_kind(AttributeKind other) const {
    return changed(*this, [&](AttributeDeclaration& to) { to.kind = other; });
  }
  constexpr void enter(auto&, auto& attributes) const {
    attributes[static_cast<size_t>(index)] = {name, kind};
  }
  void draft(const T& from, Draft& to) const {
    to.attributes[static_cast<size_t>(index)] = stored(from.*member);
  }
};

/// oob_mode: whether a flag skips indices out of range ("skip") or they are errors ("error").
template <typename T>
struct OutOfBoundsDeclaration {
  static constexpr const char* name = "oob_mode";
  int index;
  bool T::*member;

  static constexpr bool kIsParameter = true;
  constexpr void enter(auto&, auto& attributes) const {
    attributes[static_cast<size_t>(index)] = {"oob_skip", AttributeKind::kFlag};
  }
  void draft(const T& from, Draft& to) const {
    to.attributes[static_cast<size_t>(index)] = Attribute::of(from.*member);
  }
};

/// Neither of the two: the engine, or a list from which the struct's draft() makes attributes.
template <typename T, typename V>
struct ParameterDeclaration {
  using Value = V;
  const char* name;
  V T::*member;
  bool is_required = false;

  static constexpr bool kIsParameter = true;
  constexpr ParameterDeclaration required() const {
    return changed(*this, [&](ParameterDeclaration& to) { to.is_required = true; });
  }
  constexpr void enter(auto&, auto&) const {}
  void draft(const T& from, Draft& to) const {
    if constexpr (std::same_as<V, EngineKind>) to.engine = from.*member;
  }
};

/// Operands and attributes that the struct's draft() fills in, such as an engine's accumulators.
struct HiddenOperand {
  int index;
  OperandField field;
  static constexpr bool kIsParameter = false;
  constexpr void enter(auto& operands, auto&) const {
    operands[static_cast<size_t>(index)] = field;
  }
  void draft(const auto&, Draft&) const {}
};
struct HiddenAttribute {
  int index;
  AttributeField field;
  static constexpr bool kIsParameter = false;
  constexpr void enter(auto&, auto& attributes) const {
    attributes[static_cast<size_t>(index)] = field;
  }
  void draft(const auto&, Draft&) const {}
};
/// Several of them, from an index on.
struct HiddenOperands {
  int first;
  std::span<const OperandField> fields;
  UndefinedUse undefined = UndefinedUse::kReported;
  static constexpr bool kIsParameter = false;
  constexpr void enter(auto& operands, auto&) const {
    for (size_t i = 0; i < fields.size(); ++i) {
      OperandField& operand = operands[static_cast<size_t>(first) + i];
      operand = fields[i];
      operand.undefined = undefined;
    }
  }
  void draft(const auto&, Draft&) const {}
};
struct HiddenAttributes {
  int first;
  std::span<const AttributeField> fields;
  static constexpr bool kIsParameter = false;
  constexpr void enter(auto&, auto& attributes) const {
    for (size_t i = 0; i < fields.size(); ++i) {
      attributes[static_cast<size_t>(first) + i] = fields[i];
    }
  }
  void draft(const auto&, Draft&) const {}
};

/// `read_if`: the index of the attribute that makes a written operand one that is read as well.
template <int index, typename T>
constexpr OperandDeclaration<T> operand(const char* name, Direction direction, View T::*member,
                                        int8_t read_if = -1) {
  return {name, index, {name, direction, false, read_if}, member};
}
template <int index, typename T>
constexpr OperandDeclaration<T> optional_operand(const char* name, Direction direction,
                                                 View T::*member) {
  return {name, index, {name, direction, true}, member};
}
template <int operand_index, int attribute_index, typename T>
constexpr TileOrNumberDeclaration<T> tile_or_number(const char* name, View T::*tile,
                                                    const char* number_name, double T::*number) {
  return {name, operand_index, attribute_index, number_name, tile, number};
}
template <int index, typename T, typename V>
constexpr AttributeDeclaration<T, V> attribute(const char* name, V T::*member) {
  return {name, index, member};
}
template <int index, typename T>
constexpr OutOfBoundsDeclaration<T> out_of_bounds_mode(bool T::*member) {
  return {index, member};
}
template <typename T, typename V>
constexpr ParameterDeclaration<T, V> parameter(const char* name, V T::*member) {
  return {name, member};
}
template <typename T>
constexpr ParameterDeclaration<T, EngineKind> engine_of(EngineKind T::*member) {
  return {"engine", member};
}
template <int index>
constexpr HiddenOperand hidden_operand(const char* name, Direction direction,
                                       bool optional = false) {
  return {index, {name, direction, optional}};
}
template <int index>
constexpr HiddenAttribute hidden_attribute(const char* name, AttributeKind kind) {
  return {index, {name, kind}};
}

namespace detail {

/// Both tables of an instruction, as large as an instruction may be.
template <typename T>
struct Tables {
  std::array<OperandField, kMaximumOperands> operands{};
  std::array<AttributeField, kMaximumAttributes> attributes{};
};
template <typename T>
constexpr Tables<T> tables() {
  Tables<T> result;
  const auto enter = [&](const auto&... declaration) {
    (declaration.enter(result.operands, result.attributes), ...);
  };
  std::apply(enter, T::fields());
  return result;
}
constexpr size_t entries(const auto& table) {
  size_t count = 0;
  while (count < table.size() && table[count].name != nullptr) ++count;
  return count;
}

}  // namespace detail

/// The operands and the attributes of an instruction, in the order of its indices.
template <typename T>
constexpr auto operand_table() {
  constexpr auto all = detail::tables<T>().operands;
  std::array<OperandField, detail::entries(all)> result{};
  for (size_t i = 0; i < result.size(); ++i) result[i] = all[i];
  return result;
}
template <typename T>
constexpr auto attribute_table() {
  constexpr auto all = detail::tables<T>().attributes;
  std::array<AttributeField, detail::entries(all)> result{};
  for (size_t i = 0; i < result.size(); ++i) result[i] = all[i];
  return result;
}

namespace detail {

/// The member of each operand of `T`, in the order of its indices; null where it is hidden.
template <typename T>
constexpr auto operand_members() {
  std::array<View T::*, operand_table<T>().size()> result{};
  const auto enter = [&](const auto& declaration) {
    if constexpr (requires { declaration.enter_member(result); }) declaration.enter_member(result);
  };
  std::apply([&](const auto&... declaration) { (enter(declaration), ...); }, T::fields());
  return result;
}

}  // namespace detail

/// The draft of an instruction: every declared operand and attribute; hidden ones absent or 0.
template <typename T>
Draft draft_of(const InstructionType& type, const T& instruction) {
  static constexpr auto kMembers = detail::operand_members<T>();
  std::array<const View*, kMembers.size()> operands;
  for (size_t i = 0; i < kMembers.size(); ++i) {
    operands[i] = kMembers[i] == nullptr ? nullptr : &(instruction.*kMembers[i]);
  }
  Draft draft = draft_of_operands(type, operands);
  std::apply([&](const auto&... field) { (field.draft(instruction, draft), ...); }, T::fields());
  return draft;
}

/// The choice of an instruction that runs on one engine unless the kernel names another.
template <EngineKind engine>
EngineKind fixed_engine(const Draft& /*draft*/, const Architecture& /*architecture*/) {
  return engine;
}

}  // namespace neuron_sim
