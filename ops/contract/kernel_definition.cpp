#include "ops/contract/kernel_definition.h"

#include <algorithm>
#include <sstream>

#include "device/base/errors.h"
#include "ops/contract/operand_checks.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kArrow = " -> ";

std::vector<std::string> words_of(std::string_view labels) {
  std::istringstream words{std::string(labels)};
  std::vector<std::string> result;
  for (std::string word; words >> word;) result.push_back(word);
  return result;
}

bool decides_shapes_only(const std::string& label) { return label.front() == '('; }

}  // namespace

std::vector<std::string> operand_labels(std::string_view labels) {
  return words_of(labels.substr(0, labels.find(kArrow)));
}

std::vector<std::string> labels_of(std::string_view labels, size_t count) {
  std::vector<std::string> given = operand_labels(labels);
  std::erase_if(given, decides_shapes_only);
  const std::vector<std::string> results =
      words_of(labels.substr(labels.find(kArrow) + kArrow.size()));
  given.insert(given.end(), results.begin(), results.end());
  const auto is_list = [](const std::string& word) { return word.back() == '*'; };
  const auto lists = static_cast<size_t>(std::count_if(given.begin(), given.end(), is_list));
  const size_t length = lists == 0 ? 0 : (count - (given.size() - lists)) / lists;
  std::vector<std::string> result;
  for (const std::string& word : given) {
    if (!is_list(word)) result.push_back(word);
    for (size_t i = 0; is_list(word) && i < length; ++i) {
      result.push_back(text(word.substr(0, word.size() - 1), i));
    }
  }
  require(result.size() == count, "a kernel has a label for each tensor");
  return result;
}

HbmTensor declared_argument(Builder& builder, const std::string& label, const TensorSpec& spec) {
  if (spec.shape.size() > static_cast<size_t>(kMaximumRank)) {
    return argument_tensor(builder, label, spec);
  }
  return {builder.argument(label, spec.shape, spec.dtype, spec.strides), spec.shape,
          strides_of(spec)};
}

BuiltOp build_alone(std::string_view name, std::string_view labels,
                    const Architecture& architecture, std::vector<TensorSpec> operands,
                    const std::vector<TensorSpec>& results, const EmitKernel& emit) {
  BuiltOp built{nullptr, results.front(), {results.begin() + 1, results.end()}};
  if (std::all_of(results.begin(), results.end(),
                  [](const TensorSpec& result) { return result.elements() == 0; })) {
    return built;
  }
  const std::vector<std::string> given = operand_labels(labels);
  for (size_t i = given.size(); i-- > 0;) {
    if (decides_shapes_only(given[i])) operands.erase(operands.begin() + static_cast<long>(i));
  }
  Builder builder(std::string(name), architecture);
  const std::vector<std::string> label = labels_of(labels, operands.size() + results.size());
  std::vector<HbmTensor> inputs, outputs;
  for (const TensorSpec& spec : operands) {
    inputs.push_back(declared_argument(builder, label[inputs.size()], spec));
  }
  for (const TensorSpec& spec : results) {
    outputs.push_back(declared_argument(builder, label[inputs.size() + outputs.size()], spec));
  }
  emit(builder, inputs, outputs);
  built.program = builder.finish();
  return built;
}

}  // namespace neuron_sim
