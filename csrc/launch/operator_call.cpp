#include "csrc/launch/operator_call.h"

#include <string_view>

#include "csrc/launch/captured_tensor.h"
#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kEngineRange = "autograd::engine";
/// Tensors of a list that are shown.
constexpr size_t kListed = 4;

void add_number(std::string& key, int64_t number) {
  key.append(reinterpret_cast<const char*>(&number), sizeof(number));
}

}  // namespace

void TensorShape::add_to(std::string& key) const {
  add_number(key, static_cast<int64_t>(dtype));
  add_number(key, static_cast<int64_t>(sizes.size()));
  for (const int64_t size : sizes) add_number(key, size);
}

std::string tensor_text(const std::string& name, at::IntArrayRef sizes, at::ScalarType dtype) {
  std::string list;
  for (const int64_t size : sizes) list += text(list.empty() ? "" : ", ", size);
  return text(name, name.empty() ? "[" : " [", list, "] ", c10::getDtypeNames(dtype).first);
}

std::string operator_text(const c10::OperatorHandle& op, const torch::jit::Stack& stack) {
  const auto& arguments = op.schema().arguments();
  std::string operands;
  for (size_t i = 0; i < arguments.size() && arguments.size() <= stack.size(); ++i) {
    c10::IValue value = torch::jit::peek(stack, i, arguments.size());
    for_each_tensor(value, [&](const at::Tensor& tensor) {
      if (!tensor.defined()) return;
      operands += operands.empty() ? " of " : ", ";
      operands += tensor_text(arguments[i].name(), tensor.sizes(), tensor.scalar_type());
    });
  }
  return text("operator '", c10::toString(op.operator_name()), "'", operands);
}

OperatorCall::OperatorCall(const at::RecordFunction& function)
    : function_(&function),
      is_engine_range_(std::string_view(function.name()).rfind(kEngineRange, 0) == 0) {
  const auto inputs = function.inputs();
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (inputs[i].isTensor()) add(i, std::nullopt, inputs[i].toTensor());
    if (!inputs[i].isTensorList()) continue;
    const std::vector<at::Tensor> list = inputs[i].toTensorVector();
    for (size_t place = 0; place < list.size(); ++place) add(i, place, list[place]);
  }
}

void OperatorCall::add(size_t argument, std::optional<size_t> place, const at::Tensor& tensor) {
  if (!tensor.defined() || tensor.unsafeGetTensorImpl()->has_symbolic_sizes_strides()) return;
  operands_.push_back({argument, place, TensorShape(tensor)});
}

std::string OperatorCall::key() const {
  std::string key;
  add_number(key, static_cast<int64_t>(operands_.size()));
  for (const Operand& operand : operands_) {
    add_number(key, static_cast<int64_t>(operand.argument));
    add_number(key, operand.place ? static_cast<int64_t>(*operand.place) : -1);
    operand.shape.add_to(key);
  }
  key += name();
  if (const auto full_name = function_->operator_name()) key += '.' + full_name->overload_name;
  return key += '\0';
}

std::string OperatorCall::operands() const {
  const auto schema = function_->operator_schema();
  const auto argument = [&](const Operand& operand) -> const c10::Argument* {
    const bool is_known = schema && operand.argument < schema->arguments().size();
    return is_known ? &schema->arguments()[operand.argument] : nullptr;
  };
  std::string result;
  size_t left_out = 0;
  const auto add = [&](const std::string& word) { result += (result.empty() ? "" : ", ") + word; };
  const auto end_list = [&] {
    if (left_out > 0) add(text(left_out, " more"));
    left_out = 0;
  };
  for (const Operand& operand : operands_) {
    const c10::Argument* declared = argument(operand);
    if (declared != nullptr && declared->is_out()) continue;  // a launch says what it writes
    if (operand.place.value_or(0) >= kListed) {
      ++left_out;
      continue;
    }
    end_list();
    std::string name = declared == nullptr ? "" : declared->name();
    if (operand.place) name += text("[", *operand.place, "]");
    add(tensor_text(name, operand.shape.sizes, operand.shape.dtype));
  }
  end_list();
  return result;
}

}  // namespace neuron_sim
