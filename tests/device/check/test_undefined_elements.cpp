// What becomes of undefined elements follows from an instruction's declared fields: instructions
// that exist in this file only.

#include "device/isa/elementwise/reciprocal.h"
#include "tests/device/check/check_programs.h"

namespace neuron_sim {
namespace {

/// An instruction as a recipe makes it: declared fields, and a table entry that is not in the list.
/// It computes the reciprocal of `data`; `sum` stands for a reduction of the results.
template <UndefinedUse use, bool is_elementwise>
struct Synthetic {
  View dst, data, sum{};
  EngineKind engine = EngineKind::kAuto;

  enum OperandIndex { kDst, kData, kSum };
  static constexpr auto fields() {
    using T = Synthetic;
    return std::tuple{operand<kDst>("dst", Direction::kWrite, &T::dst),
                      operand<kData>("data", Direction::kRead, &T::data).undefined_elements(use),
                      optional_operand<kSum>("sum", Direction::kWrite, &T::sum),
                      engine_of(&T::engine)};
  }
  static const InstructionType& type() {
    static constexpr auto kTable = operand_table<Synthetic>();
    static const InstructionType kType = [] {
      InstructionType type = kReciprocal;
      type.name = "synthetic";
      type.operands = kTable;
      type.is_elementwise = is_elementwise;
      return type;
    }();
    return kType;
  }
  Draft draft() const { return draft_of(type(), *this); }
};
using Elementwise = Synthetic<UndefinedUse::kReported, true>;
using PassesOn = Synthetic<UndefinedUse::kPassedOn, false>;
using Transposes = Synthetic<UndefinedUse::kTransposed, false>;
using SaysNothing = Synthetic<UndefinedUse::kReported, false>;

/// Findings of a masked load of 5 of 8 columns, `Instruction` on the whole tile, and a store of
/// columns [first, first + 5) of its result.
template <typename Instruction>
std::vector<Finding> findings_of(int64_t first, bool reduces) {
  Builder builder("masked", trn2());
  const View in = builder.argument("in", {8, 8}, Dtype::kFloat32);
  const View out = builder.argument("out", {8, 5}, Dtype::kFloat32);
  const View tile = builder.sbuf("tile", {8, 8}, Dtype::kFloat32);
  const View result = builder.sbuf("result", {8, 8}, Dtype::kFloat32);
  const View sum = builder.sbuf("sum", {8, 1}, Dtype::kFloat32);
  builder.emit(DmaCopy{tile.slice(1, 0, 5), in.slice(1, 0, 5)});
  builder.emit(Instruction{.dst = result, .data = tile, .sum = reduces ? sum : View()});
  builder.emit(DmaCopy{out, result.slice(1, first, 5)});
  return check(builder, 1);
}

TEST(UndefinedElements, OfANewElementwiseInstructionArePassedOn) {
  EXPECT_TRUE(findings_of<Elementwise>(0, false).empty());
  EXPECT_TRUE(findings_of<PassesOn>(0, false).empty());
  for (const auto& found : {findings_of<Elementwise>(1, false), findings_of<PassesOn>(1, false)}) {
    ASSERT_EQ(rules_of(found), Rules{"uninitialised-read"});
    EXPECT_EQ(found[0].instruction, "dma_copy") << "the store uses what was passed on";
  }
}

TEST(UndefinedElements, OfAnInstructionThatDeclaresNothingAreReported) {
  const auto found = findings_of<SaysNothing>(0, false);
  ASSERT_EQ(rules_of(found), Rules{"uninitialised-read"});
  EXPECT_EQ(found[0].instruction, "synthetic");
  EXPECT_EQ(found[0].operand, "data");
}

TEST(UndefinedElements, OfAReductionOfTheResultsAreReportedWhereItIsTaken) {
  EXPECT_TRUE(findings_of<Elementwise>(0, true).empty()) << "the sum is not stored";
  for (const auto& found : {findings_of<Elementwise>(1, true), findings_of<PassesOn>(1, true)}) {
    ASSERT_EQ(rules_of(found), Rules{"uninitialised-read"});
    EXPECT_EQ(found[0].instruction, "synthetic");
  }
}

TEST(UndefinedElements, OfATransposeAreThoseOfTheOtherAxis) {
  // Columns 5 to 7 of the source are rows 5 to 7 of the result, of which every column is stored.
  const auto found = findings_of<Transposes>(0, false);
  ASSERT_EQ(rules_of(found), Rules{"uninitialised-read"});
  EXPECT_EQ(found[0].instruction, "dma_copy");
  EXPECT_EQ(found[0].place.partitions->begin, 5);
  EXPECT_EQ(found[0].place.partitions->end, 8);
}

TEST(UndefinedElements, EveryOperandOfTheListDeclaresWhatItsDirectionAllows) {
  for (const InstructionType* type : instruction_list()) {
    for (const OperandField& field : type->operands) {
      if (field.undefined == UndefinedUse::kReported) continue;
      const bool keeps = field.undefined == UndefinedUse::kKept;
      EXPECT_EQ(field.direction, keeps ? Direction::kWrite : Direction::kRead)
          << type->name << " " << field.name;
      EXPECT_EQ(keeps, field.read_if_attribute >= 0) << type->name << " " << field.name;
      EXPECT_FALSE(type->is_elementwise) << type->name << ": it follows from that";
    }
  }
}

}  // namespace
}  // namespace neuron_sim
