#include "ops/pointwise/launch_constants.h"

#include <algorithm>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

// Constant i is this plus i while the program is built. Emitters write no such number; every dtype
// that a constant is set in holds it exactly.
constexpr double kFirstMark = 7654321;

}  // namespace

std::shared_ptr<const Kernel> compile_expression(
    const Expression& expression,
    const std::function<std::shared_ptr<const Program>(const Expression&)>& build) {
  const std::vector<double> constants = expression.form().constants;
  std::vector<double> marks;
  for (size_t i = 0; i < constants.size(); ++i)
    marks.push_back(kFirstMark + static_cast<double>(i));
  const auto program = std::make_shared<Program>(*build(expression.with_constants(marks)));
  std::vector<LaunchNumber> numbers;
  std::vector<bool> found(constants.size());
  for (const Instruction& instruction : program->instructions) {
    const auto fields = instruction.type->attributes;
    for (uint32_t i = 0; i < instruction.attribute_count; ++i) {
      if (fields[i].kind != AttributeKind::kReal) continue;
      Attribute& attribute = program->attributes[instruction.first_attribute + i];
      const double mark = attribute.real() - kFirstMark;
      if (!(mark >= 0 && mark < static_cast<double>(constants.size()))) continue;
      const auto number = static_cast<uint32_t>(mark);
      numbers.push_back({instruction.first_attribute + i, number});
      attribute = Attribute::of(constants[number]);
      found[number] = true;
    }
  }
  require(std::find(found.begin(), found.end(), false) == found.end(),
          "every constant of an expression is an immediate of its program");
  return std::make_shared<const Kernel>(program, std::move(numbers));
}

}  // namespace neuron_sim
