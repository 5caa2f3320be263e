// The constants of a graph that is being captured: what is computed from them once.

#include <ATen/ops/empty.h>

#include <set>

#include "csrc/launch/capture.h"
#include "csrc/runtime/errors.h"
#include "device/runtime/devices.h"
#include "ops/graph/pipeline.h"

namespace neuron_sim {

void GraphCapture::keep_prepared(size_t memory) {
  graph_->memories_[memory].origin = GraphMemory::Origin::kPrepared;
  Memory& prepared = memories_[memory];
  prepared.has_contents = true;
  prepared.waiting_write = false;
  graph_->preparation_.make(memory, prepared.storage);
}

void GraphCapture::compute_constants(std::vector<GraphKernel> kernels,
                                     const std::vector<size_t>& kept) {
  if (kernels.empty()) return;
  const auto address = [&](size_t memory) { return address_of(memory); };
  for (const GraphKernel& kernel : kernels) {
    std::vector<GraphTensor> constants = kernel.operands;
    std::erase_if(constants, [&](const GraphTensor& operand) {
      return graph_->memories_[operand.memory].origin != GraphMemory::Origin::kInput;
    });
    graph_->preparation_.read(constants, address);
  }
  graph_->facts_.constant_kernels += kernels.size();
  for (const size_t memory : kept) keep_prepared(memory);
  // Nobody waits for this program: it goes through no passes.
  const GraphProgramOptions options{.fuse = options_.fuse, .passes = {}};
  GraphProgram built = build_graph_program(
      device_architecture(device_.index()), "constants", std::move(kernels),
      [&](size_t memory) {
        return graph_->memories_[memory].origin != GraphMemory::Origin::kFresh;
      },
      options);
  graph_->preparation_.run(std::make_shared<const Kernel>(std::move(built.program)),
                           built.arguments, address);
}

void GraphCapture::arrange_constants(const std::vector<ArrangedConstant>& constants) {
  const auto address = [&](size_t memory) { return address_of(memory); };
  for (const ArrangedConstant& constant : constants) {
    const size_t source = constant.source.memory;
    if (graph_->memories_[source].origin == GraphMemory::Origin::kInput) {
      graph_->preparation_.read({constant.source}, address);
    }
    const auto options = at::TensorOptions().dtype(at::kByte).device(device_);
    const at::Tensor memory = at::empty({constant.bytes()}, options);
    const size_t number = memory_of(memory);
    TORCH_INTERNAL_ASSERT(number == constant.arranged.memory);
    keep_prepared(number);
    graph_->preparation_.run(constant, address);
    graph_->facts_.arranged_bytes += constant.bytes();
  }
}

void GraphCapture::prepare_constants() {
  const auto is_constant = [&](size_t memory) { return memories_[memory].is_constant; };
  const auto is_fresh = [&](size_t memory) {
    return graph_->memories_[memory].origin == GraphMemory::Origin::kFresh &&
           !memories_[memory].has_contents && memories_[memory].storage.use_count() == 1;
  };
  Graph graph{std::move(waiting_), [&](size_t memory) { return !is_fresh(memory); },
              device_architecture(device_.index())};
  translate_errors([&] { run_graph_stage(GraphStage::kConstants, graph, options_); });
  SeparatedKernels separated =
      separate_constants(std::move(graph.kernels), is_constant, is_fresh, memories_.size());
  waiting_ = std::move(separated.others);
  std::set<size_t> read;  // after the kernels of constants
  for (const GraphKernel& kernel : waiting_) {
    for (const GraphTensor& operand : kernel.operands) read.insert(operand.memory);
  }
  for (const ArrangedConstant& constant : separated.arranged) read.insert(constant.source.memory);
  std::vector<size_t> kept;
  for (const size_t memory : separated.folded) {
    memories_[memory].waiting_write = false;
    if (read.contains(memory)) kept.push_back(memory);
  }
  translate_errors([&] {
    compute_constants(std::move(separated.constant), kept);
    arrange_constants(separated.arranged);
  });
}

}  // namespace neuron_sim
