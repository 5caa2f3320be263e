#pragma once
// What a captured graph computes from its constants (parameters and buffers that it does not write)
// before its runs: programs of kernels that depend on nothing else, and operands in the order in
// which kernels load them. Made when the graph is captured, and anew before a run that finds
// other bytes in constants that were written since (device/memory/write_watch.h): changes through
// `tensor.data` count no version.

#include <ATen/core/Tensor.h>
#include <c10/core/Storage.h>
#include <c10/util/FunctionRef.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <variant>
#include <vector>

#include "device/memory/write_watch.h"
#include "device/runtime/kernel.h"
#include "ops/graph/constants.h"
#include "ops/graph/graph_program.h"

namespace neuron_sim {

class Preparation {
 public:
  /// Memories of the graph by number.
  using Storages = std::map<size_t, c10::Storage>;
  /// The host address at which a memory begins, as it lay when the graph was captured.
  using Addresses = c10::function_ref<std::byte*(size_t memory)>;

  explicit Preparation(at::Device device) : device_(device) {}

  /// While the graph is captured. Adds constants that later steps read, with their present bytes.
  void read(const std::vector<GraphTensor>& constants, Addresses address);
  /// A memory that later steps write.
  void make(size_t memory, const c10::Storage& storage);
  /// Runs a step, and keeps it.
  void run(const std::shared_ptr<const Kernel>& kernel, const std::vector<GraphArgument>& arguments,
           Addresses address);
  void run(const ArrangedConstant& constant, Addresses address);

  /// The contents for a run with constants at these addresses. Thread safe; a run keeps its
  /// contents while another one finds changed constants.
  std::shared_ptr<const Storages> contents(Addresses address) const;
  bool empty() const { return steps_.empty(); }

 private:
  /// Bytes [begin, end) of a constant.
  struct Range {
    size_t memory = 0;
    int64_t begin = 0, end = 0;
    bool operator==(const Range&) const = default;
    HostBytes at(const std::byte* address) const { return {address + begin, address + end}; }
  };
  struct Computation {
    std::shared_ptr<const Kernel> kernel;
    std::vector<GraphArgument> arguments;
  };
  using Step = std::variant<Computation, ArrangedConstant>;
  void perform(const Step& step, Addresses address) const;
  /// Whether constant `i` may have changed since the last call; the others are watched from now on.
  bool take_written(size_t i, const HostBytes& bytes) const;

  at::Device device_;
  std::vector<Range> constants_;
  std::vector<Step> steps_;
  mutable std::mutex mutex_;
  mutable std::vector<uint64_t> fingerprints_;                ///< of `constants_`, when made
  mutable std::vector<std::unique_ptr<WriteWatch>> watches_;  ///< of `constants_` in the last run
  mutable std::shared_ptr<Storages> made_ = std::make_shared<Storages>();
};

}  // namespace neuron_sim
