#pragma once
// The files that torch.export.save writes (.pt2): JSON in its schema, and tensors.

#include <caffe2/serialize/inline_container.h>
#include <torch/torch.h>
#include <nlohmann/json.hpp>

#include <cstring>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace exported_program {

using Json = nlohmann::json;

/// Key and value of an object with exactly one key, its kind; ValueError for any other value.
inline std::pair<std::string, const Json&> kind_and_value(const Json& tagged) {
  TORCH_CHECK_VALUE(tagged.is_object() && tagged.size() == 1, "the file has an object of ",
                    tagged.size(), " kinds, expected one.");
  return {tagged.begin().key(), tagged.begin().value()};
}

inline std::string name_of(const Json& named) { return named.at("name").get<std::string>(); }

/// ValueError for any other value: the library converts 2.5 and true silently.
inline int64_t whole_number(const Json& value) {
  TORCH_CHECK_VALUE(value.is_number_integer(), "the file has ", value.dump(),
                    ", expected a whole number.");
  return value.get<int64_t>();
}

/// Any number; torch writes infinities and NaN as strings.
inline double real_number(const Json& value) {
  return value.is_string() ? std::stod(value.get<std::string>()) : value.get<double>();
}

/// dtypes by their number in the export schema (torch/_export/serde/schema.py).
inline at::ScalarType dtype_of(int64_t number) {
  static const std::map<int64_t, at::ScalarType> types = {
      {1, at::kByte},          {2, at::kChar},           {3, at::kShort}, {4, at::kInt},
      {5, at::kLong},          {6, at::kHalf},           {7, at::kFloat}, {8, at::kDouble},
      {10, at::kComplexFloat}, {11, at::kComplexDouble}, {12, at::kBool}, {13, at::kBFloat16}};
  const auto entry = types.find(number);
  TORCH_CHECK_NOT_IMPLEMENTED(entry != types.end(), "dtype ", number,
                              " of the export schema is not supported.");
  return entry->second;
}

/// The memory format of that number in the schema.
inline at::MemoryFormat memory_format_of(int64_t number) {
  static const std::map<int64_t, at::MemoryFormat> formats = {{1, at::MemoryFormat::Contiguous},
                                                              {2, at::MemoryFormat::ChannelsLast},
                                                              {3, at::MemoryFormat::ChannelsLast3d},
                                                              {4, at::MemoryFormat::Preserve}};
  const auto entry = formats.find(number);
  TORCH_CHECK_NOT_IMPLEMENTED(entry != formats.end(), "memory format ", number,
                              " of the export schema is not supported.");
  return entry->second;
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
    const Json listed = Json::parse(read(folder + configuration));
    for (const auto& [name, entry] : listed.at("config").items()) {
      TORCH_CHECK_NOT_IMPLEMENTED(!entry.at("use_pickle").get<bool>(), name,
                                  ": a pickled tensor needs Python.");
      const Json& meta = entry.at("tensor_meta");
      const std::string bytes = read(folder + entry.at("path_name").get<std::string>());
      tensors[name] = tensor(bytes, meta).to(device);
    }
  }

 private:
  static std::vector<int64_t> integers(const Json& list) {
    std::vector<int64_t> numbers;
    for (const Json& entry : list) numbers.push_back(whole_number(entry.at("as_int")));
    return numbers;
  }
  static at::Tensor tensor(const std::string& bytes, const Json& meta) {
    const auto sizes = integers(meta.at("sizes")), strides = integers(meta.at("strides"));
    at::Tensor result =
        at::empty_strided(sizes, strides, at::dtype(dtype_of(whole_number(meta.at("dtype")))));
    const auto needed = static_cast<size_t>(result.storage().nbytes());
    TORCH_CHECK_VALUE(bytes.size() >= needed, "a tensor has ", bytes.size(), " bytes, expected ",
                      needed, ".");
    if (needed > 0) std::memcpy(result.mutable_data_ptr(), bytes.data(), needed);
    return result;
  }

  caffe2::serialize::PyTorchStreamReader reader_;
};

}  // namespace exported_program
