// Declared fields of an instruction: tables and drafts that follow from them.

#include "device/instruction/fields.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace neuron_sim {
namespace {

struct Example {
  View dst, data, mask{}, scale_tile{};
  double scale = 1.5;
  AluOp op = AluOp::kAdd;
  bool negate = false, skip = false;
  int64_t count = 7;
  std::optional<int64_t> priority{};
  std::vector<int64_t> cores{0, 1};
  EngineKind engine = EngineKind::kVector;

  enum OperandIndex { kDst, kData, kScale, kMask, kState };
  enum AttributeIndex { kScaleNumber, kOp, kNegate, kSkip, kCount, kPriority, kFirst, kSecond };
  static constexpr AttributeField kPair[] = {{"first", AttributeKind::kInteger},
                                             {"second", AttributeKind::kInteger}};
  static constexpr auto fields() {
    using T = Example;
    return std::tuple{
        operand<kDst>("dst", Direction::kWrite, &T::dst, kNegate),
        attribute<kOp>("op", &T::op).required(),
        operand<kData>("data", Direction::kRead, &T::data),
        optional_operand<kMask>("mask", Direction::kRead, &T::mask),
        tile_or_number<kScale, kScaleNumber>("scale", &T::scale_tile, "scale", &T::scale),
        attribute<kNegate>("negate", &T::negate),
        out_of_bounds_mode<kSkip>(&T::skip),
        attribute<kCount>("count", &T::count).of_kind(AttributeKind::kRegister),
        attribute<kPriority>("priority", &T::priority),
        parameter("cores", &T::cores),
        engine_of(&T::engine),
        hidden_operand<kState>("state", Direction::kReadWrite, true),
        HiddenAttributes{kFirst, kPair}};
  }
};
constexpr auto kOperands = operand_table<Example>();
constexpr auto kAttributes = attribute_table<Example>();
const InstructionType kExample = {.name = "example",
                                  .operands = kOperands,
                                  .attributes = kAttributes,
                                  .choose_engine = nullptr,
                                  .check = nullptr,
                                  .run = nullptr,
                                  .demand = nullptr};

View tile(const char* label) {
  return View(MemoryKind::kSbuf, 0, Dtype::kFloat32, {4, 1}, {1, 4}, label);
}

TEST(Fields, TablesAreInTheOrderOfTheIndices) {
  std::string operands, attributes;
  for (const OperandField& each : kOperands) operands += std::string(each.name) + ' ';
  for (const AttributeField& each : kAttributes) attributes += std::string(each.name) + ' ';
  EXPECT_EQ(operands, "dst data scale mask state ");
  EXPECT_EQ(attributes, "scale op negate oob_skip count priority first second ");
}

TEST(Fields, OperandsHaveDirectionsAndMayBeOptional) {
  EXPECT_EQ(kOperands[Example::kDst].direction, Direction::kWrite);
  EXPECT_EQ(kOperands[Example::kDst].read_if_attribute, Example::kNegate);
  EXPECT_EQ(kOperands[Example::kData].read_if_attribute, -1);
  EXPECT_FALSE(kOperands[Example::kData].optional);
  EXPECT_TRUE(kOperands[Example::kMask].optional);
  EXPECT_TRUE(kOperands[Example::kScale].optional);
  EXPECT_EQ(kOperands[Example::kState].direction, Direction::kReadWrite);
}

TEST(Fields, OnlyATileInPlaceOfANumberIsPerPartition) {
  for (const OperandField& each : kOperands) {
    EXPECT_EQ(each.per_partition, std::string_view(each.name) == "scale") << each.name;
  }
}

TEST(Fields, InstructionsSayWhetherTheirElementsAndInstancesAreIndependent) {
  std::set<std::string_view> elementwise, stackable;
  for (const InstructionType* type : instruction_list()) {
    if (type->is_elementwise) elementwise.insert(type->name);
    if (type->is_stackable) stackable.insert(type->name);
  }
  const std::set<std::string_view> both{"activation",   "dma_copy",    "memset",
                                        "reciprocal",   "tensor_copy", "tensor_scalar",
                                        "tensor_tensor"};
  std::set<std::string_view> expected = both;
  expected.insert("scalar_tensor_tensor");
  EXPECT_EQ(elementwise, expected);
  expected = both;
  expected.insert("tensor_reduce");
  EXPECT_EQ(stackable, expected);
}

TEST(Fields, KindsFollowFromTypes) {
  EXPECT_EQ(kAttributes[Example::kScaleNumber].kind, AttributeKind::kReal);
  EXPECT_EQ(kAttributes[Example::kOp].kind, AttributeKind::kAluOp);
  EXPECT_EQ(kAttributes[Example::kNegate].kind, AttributeKind::kFlag);
  EXPECT_EQ(kAttributes[Example::kSkip].kind, AttributeKind::kFlag);
  EXPECT_EQ(kAttributes[Example::kCount].kind, AttributeKind::kRegister);
  EXPECT_EQ(kAttributes[Example::kPriority].kind, AttributeKind::kInteger);
}

TEST(Fields, ADraftHasEveryDeclaredValue) {
  Example example{.dst = tile("dst"), .data = tile("data")};
  example.skip = true;
  const Draft draft = draft_of(kExample, example);
  EXPECT_EQ(draft.type, &kExample);
  EXPECT_EQ(draft.engine, EngineKind::kVector);
  ASSERT_EQ(draft.operand_count(), 5);
  EXPECT_EQ(draft.operand(Example::kDst).label(), "dst");
  EXPECT_EQ(draft.operand(Example::kData).label(), "data");
  EXPECT_FALSE(draft.operand(Example::kScale).present());
  EXPECT_FALSE(draft.operand(Example::kState).present());
  ASSERT_EQ(draft.attribute_count(), 8);
  EXPECT_EQ(draft.attribute(Example::kScaleNumber).real(), 1.5);
  EXPECT_EQ(draft.attribute(Example::kOp).as<AluOp>(), AluOp::kAdd);
  EXPECT_FALSE(draft.attribute(Example::kNegate).flag());
  EXPECT_TRUE(draft.attribute(Example::kSkip).flag());
  EXPECT_EQ(draft.attribute(Example::kCount).integer(), 7);
  EXPECT_EQ(draft.attribute(Example::kPriority).integer(), kNotGiven);
  EXPECT_EQ(draft.attribute(Example::kSecond).integer(), 0);
  example.scale_tile = tile("scale");
  example.priority = 3;
  EXPECT_EQ(draft_of(kExample, example).operand(Example::kScale).label(), "scale");
  EXPECT_EQ(draft_of(kExample, example).attribute(Example::kPriority).integer(), 3);
}

TEST(Fields, EveryListedInstructionHasTablesWithoutGaps) {
  for (const InstructionType* type : instruction_list()) {
    std::set<std::string_view> names;
    for (const OperandField& each : type->operands) {
      ASSERT_NE(each.name, nullptr) << type->name;
      EXPECT_TRUE(names.insert(each.name).second) << type->name << " " << each.name;
    }
    for (const AttributeField& each : type->attributes) ASSERT_NE(each.name, nullptr) << type->name;
  }
}

}  // namespace
}  // namespace neuron_sim
