#include "ops/graph/graph_program.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "device/base/errors.h"
#include "device/builder/joined_program.h"
#include "device/compiler/line/straight_line.h"
#include "device/compiler/passes.h"
#include "device/timeline/timeline.h"
#include "ops/graph/embedded_program.h"
#include "ops/graph/pipeline.h"

namespace neuron_sim {
namespace {

/// Bytes of one memory that the kernels touch, on both sides rounded to whole elements of any
/// dtype: the tensors in it may differ in dtype.
struct Extent {
  static constexpr int64_t kAlignment = 8;
  int64_t begin = 0, end = 0;
  Dtype dtype{};
  int64_t elements() const { return (end - begin) / itemsize(dtype); }
};

std::string label_of(size_t memory) { return text("memory", memory); }

std::map<size_t, Extent> extents_of(std::span<const GraphKernel> kernels) {
  std::map<size_t, Extent> extents;
  const auto add = [&](const GraphTensor& tensor) {
    const int64_t begin = tensor.byte_offset / Extent::kAlignment * Extent::kAlignment;
    const int64_t end =
        (tensor.end() + Extent::kAlignment - 1) / Extent::kAlignment * Extent::kAlignment;
    const auto [at, is_new] = extents.try_emplace(tensor.memory, Extent{begin, end, tensor.dtype});
    if (is_new) return;
    at->second.begin = std::min(at->second.begin, begin);
    at->second.end = std::max(at->second.end, end);
  };
  for (const GraphKernel& kernel : kernels) {
    for (const GraphTensor& operand : kernel.operands) add(operand);
    for (const GraphTensor& result : kernel.results) add(result);
  }
  return extents;
}

/// The memories of the graph as tensors of the program.
class Memories {
 public:
  Memories(Builder& builder, std::span<const GraphKernel> kernels,
           const std::function<bool(size_t memory)>& is_external)
      : extents_(extents_of(kernels)) {
    for (const auto& [memory, extent] : extents_) {
      if (is_external(memory)) {
        arguments_.push_back({memory, extent.begin});
        views_.emplace(memory,
                       builder.argument(label_of(memory), {extent.elements()}, extent.dtype));
      } else {
        views_.emplace(memory,
                       builder.scratch(label_of(memory), {extent.elements()}, extent.dtype));
      }
    }
  }

  HbmTensor tensor(const GraphTensor& tensor) const {
    View storage = views_.at(tensor.memory);
    if (storage.dtype() != tensor.dtype) storage = storage.reinterpret(tensor.dtype);
    const int64_t bytes = tensor.byte_offset - extents_.at(tensor.memory).begin;
    return {storage, tensor.shape, tensor.strides, bytes / itemsize(tensor.dtype)};
  }
  std::vector<HbmTensor> tensors(const std::vector<GraphTensor>& graph_tensors) const {
    std::vector<HbmTensor> result;
    result.reserve(graph_tensors.size());
    for (const GraphTensor& graph_tensor : graph_tensors) result.push_back(tensor(graph_tensor));
    return result;
  }
  std::vector<GraphArgument> arguments() && { return std::move(arguments_); }

 private:
  std::map<size_t, Extent> extents_;
  std::map<size_t, View> views_;
  std::vector<GraphArgument> arguments_;
};

/// Kernels of which none is a program, as one program.
GraphProgram emitted(const Architecture& architecture, const std::string& name,
                     std::span<const GraphKernel> kernels,
                     const std::function<bool(size_t memory)>& is_external) {
  Builder builder(name, architecture);
  Memories memories(builder, kernels, is_external);
  for (const GraphKernel& kernel : kernels) {
    const std::vector<HbmTensor> operands = memories.tensors(kernel.operands);
    const std::vector<HbmTensor> results = memories.tensors(kernel.results);
    builder.set_source_line(kernel.source);
    builder.scope([&] { kernel.emit(builder, operands, results); });
  }
  return {.program = builder.finish(), .arguments = std::move(memories).arguments()};
}

/// The memories of kernels as tensors of a joined program.
class JoinedMemories {
 public:
  JoinedMemories(JoinedProgram& joined, std::span<const GraphKernel> kernels,
                 const std::function<bool(size_t memory)>& is_external)
      : extents_(extents_of(kernels)) {
    for (const auto& [memory, extent] : extents_) {
      const bool external = is_external(memory);
      if (external) arguments.push_back({memory, extent.begin});
      tensors_.emplace(memory,
                       joined.tensor(label_of(memory), extent.elements(), extent.dtype, external));
    }
  }

  ArgumentPlace place(size_t memory, int64_t byte_offset) const {
    return {tensors_.at(memory), byte_offset - extents_.at(memory).begin};
  }
  std::vector<ArgumentPlace> places_of(const GraphKernel& kernel) const {
    std::vector<ArgumentPlace> places;
    for (const std::optional<GraphTensor>& tensor : argument_tensors(kernel)) {
      places.push_back(tensor ? place(tensor->memory, tensor->byte_offset) : ArgumentPlace{});
    }
    return places;
  }
  std::vector<GraphArgument> arguments;

 private:
  std::map<size_t, Extent> extents_;
  std::map<size_t, TileId> tensors_;
};

/// Kernels of which some are programs, as one program. Where the passes cannot see through one of
/// these, the kernels between them go through the passes by themselves.
GraphProgram joined(const Architecture& architecture, const std::string& name,
                    std::span<const GraphKernel> kernels,
                    const std::function<bool(size_t memory)>& is_external,
                    const PassSettings& passes) {
  const bool together = std::all_of(kernels.begin(), kernels.end(), [](const GraphKernel& kernel) {
    return !kernel.program || unroll_objection(*kernel.program).empty();
  });
  JoinedProgram whole(name, architecture);
  JoinedMemories memories(whole, kernels, is_external);
  while (!kernels.empty()) {
    const auto embedded = std::find_if(kernels.begin(), kernels.end(),
                                       [](const GraphKernel& kernel) { return kernel.program; });
    const auto count = static_cast<size_t>(embedded - kernels.begin());
    if (count > 0) {
      GraphProgram piece =
          emitted(architecture, name, kernels.first(count), [](size_t) { return true; });
      if (!together) piece.program = compile(piece.program, passes).program;
      std::vector<ArgumentPlace> places;
      for (const GraphArgument& argument : piece.arguments) {
        places.push_back(memories.place(argument.memory, argument.byte_offset));
      }
      whole.append(*piece.program, places, "");
    }
    if (embedded != kernels.end()) {
      whole.append(*embedded->program, memories.places_of(*embedded), embedded->source);
    }
    kernels = kernels.subspan(std::min(count + 1, kernels.size()));
  }
  return {.program = whole.finish(), .arguments = std::move(memories.arguments)};
}

/// A program that went through the compiler's passes, and its time and traffic; none where they
/// changed nothing.
struct TimedProgram {
  GraphProgram built;
  std::optional<Timing> timing;
};

TimedProgram compiled(const Graph& graph, const std::string& name, const PassSettings& passes) {
  const std::vector<GraphKernel>& kernels = graph.kernels;
  const bool embeds = std::any_of(kernels.begin(), kernels.end(),
                                  [](const GraphKernel& kernel) { return kernel.program; });
  GraphProgram built = embeds ? joined(graph.architecture, name, kernels, graph.is_external, passes)
                              : emitted(graph.architecture, name, kernels, graph.is_external);
  built.kernels = static_cast<size_t>(std::count_if(
      kernels.begin(), kernels.end(), [](const GraphKernel& kernel) { return kernel.slice == 0; }));
  const std::shared_ptr<const Program> plain = built.program;
  Compiled compiled = compile(plain, passes);
  built.unchanged = std::move(compiled.unchanged);
  built.skipped_passes = std::move(compiled.skipped_passes);
  built.program = std::move(compiled.program);
  if (built.program == plain) return {std::move(built), std::nullopt};
  Timing timing = simulate(*built.program);
  // The order of the kernels' authors is sometimes better than the scheduler's.
  if (Timing as_written = simulate(*plain); as_written.body < timing.body) {
    timing = std::move(as_written);
    built.program = plain;
    built.unchanged = "it is shorter without them";
  }
  return {std::move(built), std::move(timing)};
}

}  // namespace

PassSettings graph_passes() {
  return {{"rename_buffers", 1},   {"place_large_first", 1}, {"forward_stores", 1},
          {"eliminate_copies", 1}, {"reuse_transposes", 1},  {"select_activations", 1},
          {"schedule", 1},         {"hoist_loads", 1},       {"choose_copy_engines", 1}};
}

GraphProgram build_graph_program(const Architecture& architecture, const std::string& name,
                                 std::vector<GraphKernel> kernels,
                                 const std::function<bool(size_t memory)>& is_external,
                                 const GraphProgramOptions& options) {
  Graph fused{std::move(kernels), is_external, architecture};
  run_graph_stage(GraphStage::kFusions, fused, options);
  std::set<std::string> left_out = options.left_out.value_or(std::set<std::string>());
  check_orders(left_out);
  Graph ordered = fused;
  const std::vector<std::string> choices =
      run_graph_stage(GraphStage::kOrder, ordered, options, left_out);
  TimedProgram shortest = compiled(ordered, name, options.passes);
  for (const std::string& pass : choices) {
    if (options.left_out || !shortest.timing) break;
    left_out.insert(pass);
    Graph alternative = fused;
    run_graph_stage(GraphStage::kOrder, alternative, options, left_out);
    TimedProgram without = compiled(alternative, name, options.passes);
    if (without.timing && without.timing->body < shortest.timing->body) {
      shortest = std::move(without);
    } else {
      left_out.erase(pass);
    }
  }
  shortest.built.left_out.assign(left_out.begin(), left_out.end());
  return std::move(shortest.built);
}

}  // namespace neuron_sim
