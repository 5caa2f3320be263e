#pragma once
// A captured graph: programs and host-side operators in order, run again for other inputs.

#include <ATen/core/Tensor.h>

#include <functional>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "csrc/launch/captured_tensor.h"
#include "csrc/launch/preparation.h"
#include "csrc/runtime/export.h"
#include "device/runtime/kernel.h"
#include "ops/graph/graph_program.h"

namespace neuron_sim {

/// The operator of a graph's launches.
inline constexpr const char* kGraphOperator = "neuron_sim::graph";

/// Where the bytes of a memory of a graph come from.
struct GraphMemory {
  enum class Origin : uint8_t {
    kInput,     ///< the caller's
    kConstant,  ///< made while the graph was captured, the same for every run
    kPrepared,  ///< made of constants of the caller before the runs (preparation.h)
    kFresh,     ///< made by each run
  } origin = Origin::kFresh;
  size_t input = 0;          ///< kInput: the first input that lies in it
  int64_t input_offset = 0;  ///< kInput: bytes of that input in its storage when captured
  c10::Storage constant{};   ///< kConstant
  int64_t bytes = 0;
};

/// A program and the places of its arguments.
struct ProgramStep {
  std::shared_ptr<const Kernel> kernel;
  std::vector<GraphArgument> arguments;
  /// Arguments from here on are zeros before it runs.
  size_t zeroed_from = std::numeric_limits<size_t>::max();
};

/// Work of the host side between programs, with the same arguments each time.
struct HostStep {
  std::string name;                             ///< of the operator
  std::function<void(torch::jit::Stack&)> run;  ///< replaces arguments by results
  StackTemplate arguments, results;
};

/// Statistics of a graph, for its report.
struct GraphFacts {
  size_t kernels = 0;           ///< launches without the graph, one by one
  Picoseconds kernel_bodies{};  ///< the sum of their bodies, as far as no data decides them
  size_t constant_kernels = 0;  ///< computed before the runs: they depend on constants alone
  int64_t arranged_bytes = 0;   ///< of constants stored in another order
  size_t emitted = 0;           ///< kernels after joining, in all programs
  size_t programs = 0;
  Picoseconds program_bodies{};  ///< the sum of the bodies of the programs
  /// Per program: the part of the model that it computes; "" where its instructions say theirs.
  std::vector<std::string> program_sources;
  /// Programs that are launched unchanged, and why: "kernel 'x' runs on 2 cores".
  std::vector<std::string> separate_programs;
  std::vector<std::string> host_operators;  ///< of each run, in order
  std::vector<std::string> unchanged;       ///< why the passes changed nothing in a program
  std::vector<std::string> skipped_passes;  ///< passes left out of a program
  std::set<std::string> left_out;           ///< GraphProgram::left_out of all programs
};

class NEURON_SIM_TORCH_API CapturedGraph {
 public:
  /// Runs the steps on the current stream of the device; returns the outputs. Inputs have the
  /// captured sizes, strides and dtypes, and share memory as captured; c10::Error otherwise.
  std::vector<at::Tensor> run(at::ArrayRef<at::Tensor> inputs) const;
  const GraphFacts& facts() const { return facts_; }

 private:
  friend class GraphCapture;
  explicit CapturedGraph(at::Device device) : device_(device), preparation_(device) {}

  at::Device device_;
  size_t inputs_ = 0;
  std::vector<GraphMemory> memories_;
  Preparation preparation_;
  std::vector<std::variant<ProgramStep, HostStep>> steps_;
  std::vector<CapturedTensor> outputs_;
  GraphFacts facts_;
};

}  // namespace neuron_sim
