#pragma once
// Captures the operators of a device instead of running them at once: kernels wait until their
// values are needed, then run together as one program. The result is kept as a CapturedGraph.

#include <ATen/core/Tensor.h>
#include <ATen/core/dispatch/Dispatcher.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "csrc/launch/graph.h"

namespace neuron_sim {

/// One capture, on one thread and one device. Host-side operators run at once: index arithmetic on
/// inputs has its values before the program starts; the pending kernels run first, as a separate
/// program, if a host-side operator needs their results.
class GraphCapture {
 public:
  /// `inputs` are the tensors that may differ from run to run, parameters among them. Those at the
  /// places `constants` rarely change: what depends on them alone is computed before the runs.
  GraphCapture(at::Device device, at::ArrayRef<at::Tensor> inputs, GraphProgramOptions options,
               at::ArrayRef<int64_t> constants = {});
  GraphCapture(const GraphCapture&) = delete;
  ~GraphCapture();

  /// The calling thread's capture; nullptr when there is none, or while a host step runs.
  static GraphCapture* active();

  const GraphProgramOptions& options() const { return options_; }
  /// Whether the tensor's contents are constants.
  bool holds_constant(const at::Tensor& tensor) { return memories_[memory_of(tensor)].is_constant; }

  /// The part of the model that the calling thread's capture comes to (GraphKernel::source).
  /// Without a capture nothing happens.
  static void set_source(const std::string& source);

  /// A tensor as a kernel sees it, from its first element on. c10::Error when it belongs to another
  /// device.
  GraphTensor graph_tensor(const at::Tensor& tensor, Dtype dtype, at::IntArrayRef sizes,
                           at::IntArrayRef strides);
  /// Adds a pending kernel, which takes the time of `alone` as a program by itself.
  void add(GraphKernel kernel, const Kernel& alone);
  /// Adds a kernel that is a program: the one of `embedded` as a part of the graph's program, or
  /// that of `kernel`, launched unchanged after the pending kernels
  /// (GraphFacts::separate_programs). Arguments from `zeroed_from` on are zeros before it runs (the
  /// caller has zeroed them for this run).
  void add_program(const std::shared_ptr<const Kernel>& kernel,
                   const std::shared_ptr<const Kernel>& embedded,
                   at::ArrayRef<at::Tensor> arguments,
                   size_t zeroed_from = std::numeric_limits<size_t>::max());
  /// Runs `op` on the values of `stack` and keeps it for later runs, unless all its arguments are
  /// constants and no later step changes its results.
  void run_on_host(const c10::OperatorHandle& op, torch::jit::Stack* stack, bool is_random);
  /// Runs other work without arguments and keeps it for later runs; every run makes a new tensor.
  at::Tensor run_on_host(const char* name, const std::function<at::Tensor()>& function);
  /// Ends the capture for `reason`, half a sentence, with an exception: none of it can be kept.
  [[noreturn]] void refuse(const std::string& reason);
  /// Refuses unless the values of `tensor` are constants.
  void check_known(const at::Tensor& tensor, const char* reader);

  /// Runs the pending kernels; returns the graph, with these outputs.
  std::shared_ptr<const CapturedGraph> finish(at::ArrayRef<at::Tensor> outputs);
  /// Why the capture was refused; empty when it was not.
  const std::string& refusal() const { return refusal_; }
  /// Whether a program that ran wrote to an input.
  bool wrote_inputs() const { return wrote_inputs_; }

 private:
  struct Memory {
    c10::Storage storage;
    bool varies = false;  ///< its contents depend on inputs
    /// Its contents depend on nothing but constants among the inputs.
    bool is_constant = false;
    int writers = 0;
    bool has_contents = false;                         ///< that a step of the graph wrote
    bool waiting_read = false, waiting_write = false;  ///< by pending kernels
  };
  size_t memory_of(const at::Tensor& tensor);
  CapturedTensor captured(const at::Tensor& tensor);
  /// Adds a program to the pending kernels; why it cannot be added, when it cannot. Its time alone
  /// is that of `kernel`.
  std::string embed(const Kernel& kernel, const std::shared_ptr<const Kernel>& embedded,
                    at::ArrayRef<at::Tensor> arguments, size_t zeroed_from);
  void check_device(const at::Tensor& tensor);
  void flush();
  /// Takes pending kernels that depend on constants alone out, and computes them.
  void prepare_constants();
  void compute_constants(std::vector<GraphKernel> kernels, const std::vector<size_t>& kept);
  void arrange_constants(const std::vector<ArrangedConstant>& constants);
  /// A memory of the graph that `preparation_` makes.
  void keep_prepared(size_t memory);
  std::byte* address_of(size_t memory) const;
  bool is_external(size_t memory) const;
  /// Runs pending kernels when a host step reads their results, or writes memory they touch.
  void settle(const StackTemplate& arguments, const std::vector<bool>& writes);
  void keep(HostStep step, bool varies, const std::vector<size_t>& written);
  void fold_constants();

  at::Device device_;
  std::vector<at::Tensor> inputs_;
  GraphProgramOptions options_;
  std::shared_ptr<CapturedGraph> graph_;
  std::vector<Memory> memories_;
  std::unordered_map<c10::StorageImpl*, size_t> numbers_;
  std::vector<GraphKernel> waiting_;
  /// Per step of the graph: the memories that a host step of constants writes; else nothing.
  std::vector<std::optional<std::vector<size_t>>> constant_writes_;
  std::string source_;  ///< of the kernels that follow
  std::string refusal_;
  bool wrote_inputs_ = false;
};

}  // namespace neuron_sim
