#pragma once
// Runs programs that torch.export.save wrote (.pt2) without Python: every node of the graph is one
// call through the dispatcher, so it runs wherever its tensors are.

#include <ATen/ScalarOps.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <torch/torch.h>

#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "models/cpp/export_archive.h"

namespace exported_program {

/// A program on one device. Devices that it names become this one.
class ExportedProgram {
 public:
  /// c10::Error or Json::exception when the file is no such program or needs unsupported features.
  ExportedProgram(const std::string& path, const at::Device& device) : device_(device) {
    Archive archive(path);
    program_ = Json::parse(archive.read("models/model.json"));
    std::map<std::string, at::Tensor> tensors;
    archive.load("data/weights/", "model_weights_config.json", device, tensors);
    archive.load("data/constants/", "model_constants_config.json", device, tensors);
    for (const Json& input : signature().at("input_specs")) {
      bind_input(input, tensors);
    }
    check_outputs();
    resolve();
  }

  size_t inputs() const { return user_inputs_.size(); }

  /// The tensors among the outputs for `inputs`, on this device.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) {
    TORCH_CHECK_VALUE(inputs.size() == user_inputs_.size(), "the program takes ",
                      user_inputs_.size(), " inputs, got ", inputs.size(), ".");
    std::unordered_map<std::string, c10::IValue> values = constants_;
    for (size_t i = 0; i < inputs.size(); ++i) values[user_inputs_[i]] = inputs[i].to(device_);
    const Json& nodes = graph().at("nodes");
    for (size_t i = 0; i < nodes.size(); ++i) {
      call(nodes[i], operators_[i], values);
      for (const std::string& name : last_uses_[i]) values.erase(name);
    }
    return collect_outputs(values);
  }

 private:
  using Values = std::unordered_map<std::string, c10::IValue>;
  using Operator = std::optional<c10::OperatorHandle>;

  const Json& graph() const { return program_.at("graph_module").at("graph"); }
  const Json& signature() const { return program_.at("graph_module").at("signature"); }

  void bind_input(const Json& input, const std::map<std::string, at::Tensor>& tensors) {
    const auto [kind, spec] = kind_and_value(input);
    if (kind == "user_input") {
      user_inputs_.push_back(name_of(spec.at("arg").at("as_tensor")));
      return;
    }
    static const std::map<std::string, std::string> names = {
        {"parameter", "parameter_name"},
        {"buffer", "buffer_name"},
        {"tensor_constant", "tensor_constant_name"}};
    const auto name = names.find(kind);
    TORCH_CHECK_NOT_IMPLEMENTED(name != names.end(), "inputs of kind ", kind,
                                " are not supported.");
    const auto key = spec.at(name->second).get<std::string>();
    const auto tensor = tensors.find(key);
    TORCH_CHECK_VALUE(tensor != tensors.end(), "the file has no tensor ", key, ".");
    constants_[name_of(spec.at("arg"))] = tensor->second;
  }

  /// Finds every operator, so that a program that cannot run fails before it starts, and the last
  /// node that uses each value.
  void resolve() {
    const Json& nodes = graph().at("nodes");
    std::unordered_map<std::string, size_t> last;
    for (size_t i = 0; i < nodes.size(); ++i) {
      operators_.push_back(find_operator(nodes[i].at("target").get<std::string>()));
      note_names(nodes[i].at("inputs"), i, last);
      note_names(nodes[i].at("outputs"), i, last);
    }
    note_names(graph().at("outputs"), nodes.size(), last);
    last_uses_.resize(nodes.size() + 1);
    for (const auto& [name, node] : last) last_uses_[node].push_back(name);
  }

  static void note_names(const Json& value, size_t node,
                         std::unordered_map<std::string, size_t>& last) {
    if (value.is_array()) {
      for (const Json& entry : value) note_names(entry, node, last);
    } else if (value.is_object()) {
      for (const auto& [key, entry] : value.items()) {
        const bool name = key == "name" || key == "as_name";
        if (name && !entry.is_null()) last[entry.get<std::string>()] = node;
        if (!name) note_names(entry, node, last);
      }
    }
  }

  /// The operator of "torch.ops.aten.conv2d.default"; none for checks of export's assumptions.
  static Operator find_operator(const std::string& target) {
    static const std::string prefix = "torch.ops.";
    const size_t dot = target.find('.', prefix.size()), last = target.rfind('.');
    const bool known = target.rfind(prefix, 0) == 0 && dot != target.npos && dot < last;
    TORCH_CHECK_NOT_IMPLEMENTED(known, target,
                                " is not an operator of the dispatcher; export with "
                                "fixed sizes and without higher-order operators.");
    const std::string name = target.substr(dot + 1, last - dot - 1);
    if (name.rfind("_assert_", 0) == 0 || name.rfind("sym_constrain", 0) == 0) return {};
    const std::string overload = target.substr(last + 1);
    const std::string space = target.substr(prefix.size(), dot - prefix.size());
    const auto found = c10::Dispatcher::singleton().findSchema(
        {space + "::" + name, overload == "default" ? "" : overload});
    TORCH_CHECK_NOT_IMPLEMENTED(found, "there is no operator ", target, " in this process.");
    return found;
  }

  void call(const Json& node, const Operator& op, Values& values) const {
    if (!op) return;
    std::map<std::string, const Json*> given;
    for (const Json& input : node.at("inputs")) {
      given[name_of(input)] = &input.at("arg");
    }
    torch::jit::Stack stack;
    for (const c10::Argument& argument : op->schema().arguments()) {
      const auto found = given.find(argument.name());
      if (found != given.end()) {
        stack.push_back(to_value(*found->second, *argument.type(), values));
      } else {
        TORCH_CHECK_VALUE(argument.default_value(), node.at("target").get<std::string>(),
                          ": argument ", argument.name(), " is missing.");
        stack.push_back(*argument.default_value());
      }
    }
    op->callBoxed(stack);
    const Json& outputs = node.at("outputs");
    for (size_t i = 0; i < outputs.size(); ++i) assign(outputs[i], stack.at(i), values);
  }

  static void assign(const Json& output, const c10::IValue& result, Values& values) {
    const auto [kind, target] = kind_and_value(output);
    if (kind == "as_tensors") {
      const auto tensors = result.toTensorVector();
      for (size_t i = 0; i < tensors.size(); ++i) {
        values[name_of(target.at(i))] = tensors[i];
      }
    } else if (kind == "as_optional_tensor") {
      if (target.contains("as_tensor")) values[name_of(target.at("as_tensor"))] = result;
    } else if (target.contains("name")) {
      values[name_of(target)] = result;
    } else if (target.contains("as_name")) {
      values[target.at("as_name").get<std::string>()] = result;
    }
  }

  static const c10::IValue& value(const Json& reference, const Values& values) {
    const auto found = values.find(name_of(reference));
    TORCH_CHECK_VALUE(found != values.end(), "the graph uses ", name_of(reference),
                      " before it is computed.");
    return found->second;
  }

  static int64_t integer(const Json& entry, const Values& values) {
    if (!entry.is_object()) return whole_number(entry);
    if (entry.contains("as_int")) return whole_number(entry.at("as_int"));
    const auto found = values.find(entry.at("as_name").get<std::string>());
    TORCH_CHECK_VALUE(found != values.end(), "the graph uses the size ",
                      entry.at("as_name").get<std::string>(), " before it is computed.");
    return found->second.toInt();
  }

  c10::IValue to_value(const Json& argument, const c10::Type& type, const Values& values) const {
    const auto [kind, entry] = kind_and_value(argument);
    if (kind == "as_none") return {};
    if (kind == "as_tensor") return value(entry, values);
    if (kind == "as_tensors") return tensors(entry, values);
    if (kind == "as_optional_tensors") return optional_tensors(entry, values);
    if (kind == "as_optional_tensor") {
      return entry.contains("as_tensor") ? value(entry.at("as_tensor"), values) : c10::IValue();
    }
    if (kind == "as_device") return device_;
    const bool list = entry.is_array();
    return list ? numbers(kind, entry, values) : number(kind, entry, type, values);
  }

  /// A value that is not a tensor.
  static c10::IValue number(const std::string& kind, const Json& entry, const c10::Type& type,
                            const Values& values) {
    // Operators of two tensors take numbers too, "x + 2".
    if (type.kind() == c10::TypeKind::TensorType) {
      at::Tensor tensor =
          c10::scalar_to_tensor(number(kind, entry, *c10::NumberType::get(), values).toScalar());
      tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
      return tensor;
    }
    if (kind == "as_bool") return entry.get<bool>();
    if (kind == "as_string") return entry.get<std::string>();
    if (kind == "as_float") return real_number(entry);
    if (kind == "as_scalar_type") return dtype_of(whole_number(entry));
    if (kind == "as_memory_format") return memory_format_of(whole_number(entry));
    if (kind == "as_layout") return at::kStrided;
    TORCH_CHECK_NOT_IMPLEMENTED(kind == "as_int" || kind == "as_sym_int", "arguments of kind ",
                                kind, " are not supported.");
    const int64_t whole = integer(entry, values);
    const bool real = type.kind() == c10::TypeKind::FloatType;
    return real ? c10::IValue(static_cast<double>(whole)) : c10::IValue(whole);
  }

  static c10::IValue numbers(const std::string& kind, const Json& entry, const Values& values) {
    c10::List<int64_t> integers;
    c10::List<double> reals;
    c10::List<bool> booleans;
    const bool whole = kind == "as_ints" || kind == "as_sym_ints";
    TORCH_CHECK_NOT_IMPLEMENTED(whole || kind == "as_floats" || kind == "as_bools",
                                "arguments of kind ", kind, " are not supported.");
    for (const Json& one : entry) {
      if (whole) integers.push_back(integer(one, values));
      if (kind == "as_floats") reals.push_back(real_number(one));
      if (kind == "as_bools") booleans.push_back(one.get<bool>());
    }
    if (whole) return integers;
    return kind == "as_floats" ? c10::IValue(reals) : c10::IValue(booleans);
  }

  static c10::IValue tensors(const Json& entry, const Values& values) {
    c10::List<at::Tensor> list;
    for (const Json& one : entry) list.push_back(value(one, values).toTensor());
    return list;
  }

  static c10::IValue optional_tensors(const Json& entry, const Values& values) {
    c10::List<std::optional<at::Tensor>> list;
    for (const Json& one : entry) {
      const bool there = one.contains("as_tensor");
      list.push_back(there ? std::optional(value(one.at("as_tensor"), values).toTensor())
                           : std::nullopt);
    }
    return list;
  }

  /// A program that changes its buffers (training) would need them written back.
  void check_outputs() const {
    for (const Json& spec : signature().at("output_specs")) {
      const std::string kind = kind_and_value(spec).first;
      TORCH_CHECK_NOT_IMPLEMENTED(kind == "user_output", "outputs of kind ", kind,
                                  " are not supported; export in eval mode.");
    }
  }

  std::vector<at::Tensor> collect_outputs(const Values& values) const {
    std::vector<at::Tensor> outputs;
    for (const Json& output : graph().at("outputs")) {
      if (!output.contains("as_tensor")) continue;
      outputs.push_back(value(output.at("as_tensor"), values).toTensor());
    }
    return outputs;
  }

  at::Device device_;
  Json program_;
  Values constants_;
  std::vector<std::string> user_inputs_;
  std::vector<Operator> operators_;                  ///< by node
  std::vector<std::vector<std::string>> last_uses_;  ///< by node
};

}  // namespace exported_program
