// The list of instructions, and the layout the project promises: every instruction has its header,
// its source, its test with error texts, and its row in the documentation.

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "device/instruction/instruction_type.h"
#include "device/isa/sequencing/compile_time_query.h"

namespace neuron_sim {
namespace {

/// The repository, found from the current directory upwards; empty when the tests run elsewhere.
std::filesystem::path repository() {
  for (std::filesystem::path at = std::filesystem::current_path();; at = at.parent_path()) {
    if (std::filesystem::exists(at / "device" / "isa" / "list.h.in")) return at;
    if (at == at.parent_path()) return {};
  }
}

/// The folder of an instruction's header below device/isa, relative to the root.
std::filesystem::path folder_of(const std::filesystem::path& root, const std::string& name) {
  const auto isa = root / "device" / "isa";
  for (const auto& entry : std::filesystem::directory_iterator(isa)) {
    if (entry.is_directory() && std::filesystem::exists(entry.path() / (name + ".h"))) {
      return std::filesystem::path("device") / "isa" / entry.path().filename();
    }
  }
  return {};
}

std::string contents(const std::filesystem::path& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

/// Whether a source of the folder includes the header; a pair of instructions may share one.
bool a_source_includes(const std::filesystem::path& folder, const std::string& header) {
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    const bool is_source = entry.path().extension() == ".cpp";
    if (is_source && contents(entry.path()).find('"' + header + '"') != std::string::npos) {
      return true;
    }
  }
  return false;
}

/// String literals of C++ source, adjacent ones joined as the compiler joins them. Escapes are
/// kept; comments and raw strings do not occur in the tests' error texts.
std::vector<std::string> literals(const std::string& source) {
  std::vector<std::string> result;
  bool inside = false, joined = false;
  for (size_t i = 0; i < source.size(); ++i) {
    const char c = source[i];
    if (inside) {
      if (c == '\\') result.back() += source[i++];
      if (c == '"') {
        inside = false;
        joined = true;
      } else {
        result.back() += source[i];
      }
    } else if (c == '"' && (i == 0 || source[i - 1] != '\'')) {
      if (!joined) result.emplace_back();
      inside = true;
    } else if (!std::isspace(static_cast<unsigned char>(c))) {
      joined = false;
    }
  }
  return result;
}

/// A whole error sentence of an instruction: five words or more, its quoted name, and an end: a
/// full stop, or the quote that ends the vendor's texts.
bool is_error_sentence(const std::string& text, const std::string& instruction) {
  const auto words = std::count(text.begin(), text.end(), ' ') + 1;
  const bool named = text.find("'" + instruction + "'") != std::string::npos;
  const bool ends = text.ends_with('.') || text.ends_with('\'');
  return words >= 5 && named && ends;
}

/// True when a test expects a whole error sentence of the instruction.
bool expects_error_sentence(const std::filesystem::path& tests, const std::string& instruction) {
  for (const auto& entry : std::filesystem::recursive_directory_iterator(tests)) {
    const std::string file = entry.path().filename().string();
    const bool own =
        file == "test_" + instruction + ".cpp" || file == "test_" + instruction + "_checks.cpp";
    if (!own) continue;
    for (const std::string& literal : literals(contents(entry.path()))) {
      if (is_error_sentence(literal, instruction)) return true;
    }
  }
  return false;
}

std::vector<std::string> all_names() {
  std::vector<std::string> names;
  for (const InstructionType* type : instruction_list()) names.emplace_back(type->name);
  for (const CompileTimeQuery& query : compile_time_queries()) names.emplace_back(query.name);
  return names;
}

TEST(InstructionList, NamesOfInstructionsOperandsAndAttributesAreDistinct) {
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
  for (const CompileTimeQuery& query : compile_time_queries()) {
    EXPECT_TRUE(names.insert(query.name).second) << query.name;
  }
}

TEST(InstructionList, IsInAlphabeticalOrder) {
  const auto instructions = instruction_list();
  EXPECT_TRUE(std::is_sorted(
      instructions.begin(), instructions.end(),
      [](const InstructionType* a, const InstructionType* b) { return a->name < b->name; }));
  const auto queries = compile_time_queries();
  EXPECT_TRUE(std::is_sorted(
      queries.begin(), queries.end(),
      [](const CompileTimeQuery& a, const CompileTimeQuery& b) { return a.name < b.name; }));
}

TEST(InstructionList, EveryInstructionHasItsMembers) {
  for (const InstructionType* type : instruction_list()) {
    EXPECT_NE(type->choose_engine, nullptr) << type->name;
    EXPECT_NE(type->check, nullptr) << type->name;
    EXPECT_NE(type->demand, nullptr) << type->name;
  }
  for (const CompileTimeQuery& query : compile_time_queries()) {
    EXPECT_NE(query.value, nullptr) << query.name;
  }
}

TEST(InstructionList, EveryInstructionHasItsFilesAndItsRowInTheDocumentation) {
  const std::filesystem::path root = repository();
  if (root.empty()) GTEST_SKIP() << "run below the repository";
  const std::string page = contents(root / "docs" / "instructions.md");
  for (const std::string& name : all_names()) {
    const std::filesystem::path folder = folder_of(root, name);
    ASSERT_FALSE(folder.empty()) << "device/isa has no folder with " << name << ".h";
    EXPECT_TRUE(a_source_includes(root / folder, (folder / (name + ".h")).string())) << name;
    const auto test = root / "tests" / folder / ("test_" + name + ".cpp");
    EXPECT_TRUE(std::filesystem::exists(test)) << test;
    const std::string row = "\n| [" + name + "](../" + folder.string() + "/" + name + ".h) |";
    EXPECT_NE(page.find(row), std::string::npos) << "docs/instructions.md has no row for " << name
                                                 << "; run tools/write_instruction_docs.py";
  }
}

TEST(InstructionList, EveryInstructionHasATestOfAWholeErrorSentence) {
  const std::filesystem::path root = repository();
  if (root.empty()) GTEST_SKIP() << "run below the repository";
  for (const InstructionType* type : instruction_list()) {
    EXPECT_TRUE(expects_error_sentence(root / "tests" / "device" / "isa", std::string(type->name)))
        << "no test of " << type->name << " expects one of its error sentences";
  }
}

TEST(InstructionList, TellsErrorSentencesFromOtherLiterals) {
  const std::string source = R"(EXPECT_EQ(error(), "n 7 of 'topk' must be "
      "8 or \"more\"."); f("a", "b" "c"); char quote = '"'; g("d");)";
  EXPECT_EQ(literals(source),
            (std::vector<std::string>{"n 7 of 'topk' must be 8 or \\\"more\\\".", "a", "bc", "d"}));
  EXPECT_TRUE(is_error_sentence("n 7 of 'topk' must be 8.", "topk"));
  EXPECT_TRUE(is_error_sentence("mismatch in parameters (a[2], b[1]) of 'topk'", "topk"));
  EXPECT_FALSE(is_error_sentence("n 7 of 'topk' must be 8.", "max8"));
  EXPECT_FALSE(is_error_sentence("n 7 of 'topk' must be", "topk"));
  EXPECT_FALSE(is_error_sentence("no 'topk'.", "topk"));
}

}  // namespace
}  // namespace neuron_sim
