#include <gtest/gtest.h>

#include <filesystem>
#include <set>
#include <string>

#include "device/isa/instruction_type.h"

namespace neuron_sim {
namespace {

/// The folder of this file, found from the current directory upwards (__FILE__ is relative to the
/// repository); empty when the tests run elsewhere.
std::filesystem::path test_directory() {
  const std::filesystem::path file = __FILE__;
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / file)) return (at / file).parent_path();
    if (at == at.parent_path()) return {};
  }
}

TEST(InstructionList, names_of_instructions_operands_and_attributes_are_distinct) {
  std::set<std::string_view> names;
  for (const InstructionType* type : instruction_list()) {
    EXPECT_TRUE(names.insert(type->name).second) << type->name;
    std::set<std::string> fields;
    for (const OperandField& field : type->operands) {
      EXPECT_NE(std::string(field.name), "") << type->name;
      EXPECT_TRUE(fields.insert(field.name).second) << type->name << " " << field.name;
      EXPECT_LT(field.read_if_attribute, static_cast<int>(type->attributes.size()));
    }
    fields.clear();  // an operand and its constant form may share a name (scale of activation)
    for (const AttributeField& field : type->attributes) {
      EXPECT_NE(std::string(field.name), "") << type->name;
      EXPECT_TRUE(fields.insert(field.name).second) << type->name << " " << field.name;
    }
    EXPECT_LE(type->operands.size(), static_cast<size_t>(kMaximumOperands)) << type->name;
  }
}

TEST(InstructionList, every_instruction_has_its_members_its_files_and_tests_of_its_errors) {
  const std::filesystem::path directory = test_directory();
  if (directory.empty()) GTEST_SKIP() << "run below the repository";
  for (const InstructionType* type : instruction_list()) {
    EXPECT_NE(type->choose_engine, nullptr) << type->name;
    EXPECT_NE(type->check, nullptr) << type->name;
    EXPECT_NE(type->demand, nullptr) << type->name;
    const auto test = directory / ("test_" + std::string(type->name) + ".cpp");
    EXPECT_TRUE(std::filesystem::exists(test)) << test;
  }
}

}  // namespace
}  // namespace neuron_sim
