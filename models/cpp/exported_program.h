#pragma once
// Runs programs that torch.export.save wrote (.pt2) without Python: every node of the graph is one
// call through the dispatcher, so it runs wherever its tensors are.

#include <ATen/ScalarOps.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/torch.h>

#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "models/cpp/json.h"

namespace exported_program {

/// dtypes by their number in the export schema (torch/_export/serde/schema.py).
inline at::ScalarType dtype_of(int64_t number) {
  static const std::map<int64_t, at::ScalarType> types = {
      {1, at::kByte},          {2, at::kChar},           {3, at::kShort}, {4, at::kInt},
      {5, at::kLong},          {6, at::kHalf},           {7, at::kFloat}, {8, at::kDouble},
      {10, at::kComplexFloat}, {11, at::kComplexDouble}, {12, at::kBool}, {13, at::kBFloat16}};
  const auto found = types.find(number);
  TORCH_CHECK_NOT_IMPLEMENTED(found != types.end(), "dtype ", number,
                              " of the export schema is not supported.");
  return found->second;
}

/// The same for memory formats.
inline at::MemoryFormat memory_format_of(int64_t number) {
  static const std::map<int64_t, at::MemoryFormat> formats = {{1, at::MemoryFormat::Contiguous},
                                                              {2, at::MemoryFormat::ChannelsLast},
                                                              {3, at::MemoryFormat::ChannelsLast3d},
                                                              {4, at::MemoryFormat::Preserve}};
  const auto found = formats.find(number);
  TORCH_CHECK_NOT_IMPLEMENTED(found != formats.end(), "memory format ", number,
                              " of the export schema is not supported.");
  return found->second;
}

/// The files of an archive.
class Archive {
 public:
  explicit Archive(const std::string& path) : reader_(path) {}

  bool has(const std::string& name) { return reader_.hasRecord(name); }
  std::string read(const std::string& name) {
    const auto [data, size] = reader_.getRecord(name);
    return {static_cast<const char*>(data.get()), size};
  }
  /// The tensors that a configuration file lists, by name, on `device`.
  void load(const std::string& folder, const std::string& configuration, const at::Device& device,
            std::map<std::string, at::Tensor>& tensors) {
    if (!has(folder + configuration)) return;
    const json::Value listed = json::parse(read(folder + configuration));
    for (const auto& [name, entry] : listed["config"].object()) {
      TORCH_CHECK_NOT_IMPLEMENTED(!entry["use_pickle"].boolean(), name,
                                  ": a pickled tensor needs Python.");
      const json::Value& meta = entry["tensor_meta"];
      const std::string bytes = read(folder + entry["path_name"].text());
      tensors[name] = tensor(bytes, meta).to(device);
    }
  }

 private:
  static std::vector<int64_t> integers(const json::Value& list) {
    std::vector<int64_t> numbers;
    for (const json::Value& entry : list.array()) numbers.push_back(entry["as_int"].integer());
    return numbers;
  }
  static at::Tensor tensor(const std::string& bytes, const json::Value& meta) {
    const auto sizes = integers(meta["sizes"]), strides = integers(meta["strides"]);
    at::Tensor result =
        at::empty_strided(sizes, strides, at::dtype(dtype_of(meta["dtype"].integer())));
    const auto needed = static_cast<size_t>(result.storage().nbytes());
    TORCH_CHECK_VALUE(bytes.size() >= needed, "a tensor has ", bytes.size(), " bytes, expected ",
                      needed, ".");
    if (needed > 0) std::memcpy(result.mutable_data_ptr(), bytes.data(), needed);
    return result;
  }

  caffe2::serialize::PyTorchStreamReader reader_;
};

/// A program on one device. Devices that it names become this one.
class ExportedProgram {
 public:
  /// c10::Error or json::JsonError when the file is no such program or needs unsupported features.
  ExportedProgram(const std::string& path, const at::Device& device) : device_(device) {
    Archive archive(path);
    program_ = json::parse(archive.read("models/model.json"));
    std::map<std::string, at::Tensor> tensors;
    archive.load("data/weights/", "model_weights_config.json", device, tensors);
    archive.load("data/constants/", "model_constants_config.json", device, tensors);
    for (const json::Value& input : signature()["input_specs"].array()) {
      bind_input(input.object(), tensors);
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
    const json::Array& nodes = graph()["nodes"].array();
    for (size_t i = 0; i < nodes.size(); ++i) {
      call(nodes[i], operators_[i], values);
      for (const std::string& name : last_uses_[i]) values.erase(name);
    }
    return collect_outputs(values);
  }

 private:
  using Values = std::unordered_map<std::string, c10::IValue>;
  using Operator = std::optional<c10::OperatorHandle>;

  const json::Value& graph() const { return program_["graph_module"]["graph"]; }
  const json::Value& signature() const { return program_["graph_module"]["signature"]; }

  void bind_input(const json::Object& input, const std::map<std::string, at::Tensor>& tensors) {
    const auto& [kind, spec] = *input.begin();
    if (kind == "user_input") {
      user_inputs_.push_back(spec["arg"]["as_tensor"]["name"].text());
      return;
    }
    static const std::map<std::string, std::string> names = {
        {"parameter", "parameter_name"},
        {"buffer", "buffer_name"},
        {"tensor_constant", "tensor_constant_name"}};
    const auto name = names.find(kind);
    TORCH_CHECK_NOT_IMPLEMENTED(name != names.end(), "inputs of kind ", kind,
                                " are not supported.");
    const std::string& key = spec[name->second].text();
    const auto tensor = tensors.find(key);
    TORCH_CHECK_VALUE(tensor != tensors.end(), "the file has no tensor ", key, ".");
    constants_[spec["arg"]["name"].text()] = tensor->second;
  }

  /// Finds every operator, so that a program that cannot run fails before it starts, and the last
  /// node that uses each value.
  void resolve() {
    const json::Array& nodes = graph()["nodes"].array();
    std::unordered_map<std::string, size_t> last;
    for (size_t i = 0; i < nodes.size(); ++i) {
      operators_.push_back(find_operator(nodes[i]["target"].text()));
      note_names(nodes[i]["inputs"], i, last);
      note_names(nodes[i]["outputs"], i, last);
    }
    note_names(graph()["outputs"], nodes.size(), last);
    last_uses_.resize(nodes.size() + 1);
    for (const auto& [name, node] : last) last_uses_[node].push_back(name);
  }

  static void note_names(const json::Value& value, size_t node,
                         std::unordered_map<std::string, size_t>& last) {
    if (const auto* list = std::get_if<json::Array>(&value.content)) {
      for (const json::Value& entry : *list) note_names(entry, node, last);
    } else if (const auto* object = std::get_if<json::Object>(&value.content)) {
      for (const auto& [key, entry] : *object) {
        const bool name = key == "name" || key == "as_name";
        if (name && !entry.is_null()) last[entry.text()] = node;
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

  void call(const json::Value& node, const Operator& op, Values& values) const {
    if (!op) return;
    std::map<std::string, const json::Value*> given;
    for (const json::Value& input : node["inputs"].array()) {
      given[input["name"].text()] = &input["arg"];
    }
    torch::jit::Stack stack;
    for (const c10::Argument& argument : op->schema().arguments()) {
      const auto found = given.find(argument.name());
      if (found != given.end()) {
        stack.push_back(to_value(*found->second, *argument.type(), values));
      } else {
        TORCH_CHECK_VALUE(argument.default_value(), node["target"].text(), ": argument ",
                          argument.name(), " is missing.");
        stack.push_back(*argument.default_value());
      }
    }
    op->callBoxed(stack);
    const json::Array& outputs = node["outputs"].array();
    for (size_t i = 0; i < outputs.size(); ++i) assign(outputs[i], stack.at(i), values);
  }

  static void assign(const json::Value& output, const c10::IValue& result, Values& values) {
    const auto& [kind, target] = *output.object().begin();
    if (kind == "as_tensors") {
      const auto tensors = result.toTensorVector();
      for (size_t i = 0; i < tensors.size(); ++i) {
        values[target.array().at(i)["name"].text()] = tensors[i];
      }
    } else if (kind == "as_optional_tensor") {
      if (target.has("as_tensor")) values[target["as_tensor"]["name"].text()] = result;
    } else if (target.has("name")) {
      values[target["name"].text()] = result;
    } else if (target.has("as_name")) {
      values[target["as_name"].text()] = result;
    }
  }

  static const c10::IValue& value(const json::Value& reference, const Values& values) {
    const auto found = values.find(reference["name"].text());
    TORCH_CHECK_VALUE(found != values.end(), "the graph uses ", reference["name"].text(),
                      " before it is computed.");
    return found->second;
  }

  static int64_t integer(const json::Value& entry, const Values& values) {
    if (!std::holds_alternative<json::Object>(entry.content)) return entry.integer();
    if (entry.has("as_int")) return entry["as_int"].integer();
    const auto found = values.find(entry["as_name"].text());
    TORCH_CHECK_VALUE(found != values.end(), "the graph uses the size ", entry["as_name"].text(),
                      " before it is computed.");
    return found->second.toInt();
  }

  c10::IValue to_value(const json::Value& argument, const c10::Type& type,
                       const Values& values) const {
    const auto& [kind, entry] = *argument.object().begin();
    if (kind == "as_none") return {};
    if (kind == "as_tensor") return value(entry, values);
    if (kind == "as_tensors") return tensors(entry, values);
    if (kind == "as_optional_tensors") return optional_tensors(entry, values);
    if (kind == "as_optional_tensor") {
      return entry.has("as_tensor") ? value(entry["as_tensor"], values) : c10::IValue();
    }
    if (kind == "as_device") return device_;
    const bool list = std::holds_alternative<json::Array>(entry.content);
    return list ? numbers(kind, entry, values) : number(kind, entry, type, values);
  }

  /// A value that is not a tensor.
  static c10::IValue number(const std::string& kind, const json::Value& entry,
                            const c10::Type& type, const Values& values) {
    // Operators of two tensors take numbers too, "x + 2".
    if (type.kind() == c10::TypeKind::TensorType) {
      at::Tensor tensor =
          c10::scalar_to_tensor(number(kind, entry, *c10::NumberType::get(), values).toScalar());
      tensor.unsafeGetTensorImpl()->set_wrapped_number(true);
      return tensor;
    }
    if (kind == "as_bool") return entry.boolean();
    if (kind == "as_string") return entry.text();
    if (kind == "as_float") return entry.number();
    if (kind == "as_scalar_type") return dtype_of(entry.integer());
    if (kind == "as_memory_format") return memory_format_of(entry.integer());
    if (kind == "as_layout") return at::kStrided;
    TORCH_CHECK_NOT_IMPLEMENTED(kind == "as_int" || kind == "as_sym_int", "arguments of kind ",
                                kind, " are not supported.");
    const int64_t whole = integer(entry, values);
    const bool real = type.kind() == c10::TypeKind::FloatType;
    return real ? c10::IValue(static_cast<double>(whole)) : c10::IValue(whole);
  }

  static c10::IValue numbers(const std::string& kind, const json::Value& entry,
                             const Values& values) {
    c10::List<int64_t> integers;
    c10::List<double> reals;
    c10::List<bool> booleans;
    const bool whole = kind == "as_ints" || kind == "as_sym_ints";
    TORCH_CHECK_NOT_IMPLEMENTED(whole || kind == "as_floats" || kind == "as_bools",
                                "arguments of kind ", kind, " are not supported.");
    for (const json::Value& one : entry.array()) {
      if (whole) integers.push_back(integer(one, values));
      if (kind == "as_floats") reals.push_back(one.number());
      if (kind == "as_bools") booleans.push_back(one.boolean());
    }
    if (whole) return integers;
    return kind == "as_floats" ? c10::IValue(reals) : c10::IValue(booleans);
  }

  static c10::IValue tensors(const json::Value& entry, const Values& values) {
    c10::List<at::Tensor> list;
    for (const json::Value& one : entry.array()) list.push_back(value(one, values).toTensor());
    return list;
  }

  static c10::IValue optional_tensors(const json::Value& entry, const Values& values) {
    c10::List<std::optional<at::Tensor>> list;
    for (const json::Value& one : entry.array()) {
      const bool there = one.has("as_tensor");
      list.push_back(there ? std::optional(value(one["as_tensor"], values).toTensor())
                           : std::nullopt);
    }
    return list;
  }

  /// A program that changes its buffers (training) would need them written back.
  void check_outputs() const {
    for (const json::Value& spec : signature()["output_specs"].array()) {
      const std::string& kind = spec.object().begin()->first;
      TORCH_CHECK_NOT_IMPLEMENTED(kind == "user_output", "outputs of kind ", kind,
                                  " are not supported; export in eval mode.");
    }
  }

  std::vector<at::Tensor> collect_outputs(const Values& values) const {
    std::vector<at::Tensor> outputs;
    for (const json::Value& output : graph()["outputs"].array()) {
      if (!output.has("as_tensor")) continue;
      outputs.push_back(value(output["as_tensor"], values).toTensor());
    }
    return outputs;
  }

  at::Device device_;
  json::Value program_;
  Values constants_;
  std::vector<std::string> user_inputs_;
  std::vector<Operator> operators_;                  ///< by node
  std::vector<std::vector<std::string>> last_uses_;  ///< by node
};

}  // namespace exported_program
