#include "ops/graph/drop_copies.h"

#include <algorithm>
#include <map>
#include <optional>
#include <variant>

#include "ops/graph/kernels/tensor_match.h"

namespace neuron_sim {
namespace {

/// Whether no element of the first tensor repeats, and neighbours are neighbours in both.
bool keeps_neighbours(const std::vector<SharedDimension>& dimensions) {
  int64_t reach = 1;
  for (size_t i = dimensions.size(); i-- > 0; reach *= dimensions[i].size) {
    if (dimensions[i].strides.front() < reach) return false;
    reach = dimensions[i].strides.front();
  }
  const std::vector<int64_t>& last = dimensions.back().strides;
  return last.front() == 1 && last.back() == 1;
}

class Copies {
 public:
  explicit Copies(Graph& graph) : graph_(graph), kernels_(graph.kernels) {}

  void run() {
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (!kernels_[i].traits.copies) continue;
      const GraphTensor source = kernels_[i].operands.front(), result = kernels_[i].results.front();
      if (!reads_source(i, source, result)) writes_result(i, source, result);
    }
    drop_joined(graph_);
  }

 private:
  /// Lets all that reads the result of a copy read its source.
  bool reads_source(size_t copy, const GraphTensor& source, const GraphTensor& result) {
    const std::vector<SharedDimension> dimensions = shared_dimensions(result, source);
    if (!is_private(result, source) || !keeps_neighbours(dimensions)) return false;
    std::map<size_t, GraphKernel> readers;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const GraphKernel& kernel = kernels_[i];
      if (i != copy && touches(kernel.results, result)) return false;
      if (i > copy && touches(kernel.results, source)) return false;
      if (!touches(kernel.operands, result)) continue;
      std::optional<GraphKernel> reader = i > copy ? reading(kernel, result, source) : std::nullopt;
      if (!reader) return false;
      readers.emplace(i, std::move(*reader));
    }
    const int64_t row = dimensions.back().size * itemsize(source.dtype);
    const bool short_rows = row < graph_.architecture.dma.small_row && !is_dense(source);
    if (short_rows && readers.size() > 1) return false;
    kernels_[copy] = {};
    for (auto& [place, reader] : readers) kernels_[place] = std::move(reader);
    return true;
  }

  /// Lets the kernel that writes the source of a copy, which nothing else reads, write its result.
  void writes_result(size_t copy, const GraphTensor& source, const GraphTensor& result) {
    if (!is_private(source, result) || !keeps_neighbours(shared_dimensions(source, result))) return;
    std::optional<size_t> writer;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      if (i != copy && touches(kernels_[i].operands, source)) return;
      if (!touches(kernels_[i].results, source)) continue;
      if (writer || i > copy) return;
      writer = i;
    }
    if (!writer || !can_move(kernels_, *writer, copy)) return;
    std::optional<GraphKernel> kernel = writing(kernels_[*writer], source, result);
    if (!kernel) return;
    kernels_[copy] = std::move(*kernel);
    kernels_[*writer] = {};
  }

  /// Whether nothing but the graph's kernels sees `tensor`, and it lies apart from `other`.
  bool is_private(const GraphTensor& tensor, const GraphTensor& other) const {
    return !graph_.is_external(tensor.memory) && tensor.memory != other.memory;
  }

  /// The kernel with `to` in place of its operands in `from`.
  std::optional<GraphKernel> reading(GraphKernel kernel, const GraphTensor& from,
                                     const GraphTensor& to) const {
    for (GraphTensor& operand : kernel.operands) {
      if (!may_overlap(operand, from)) continue;
      const auto moved = relocated(operand, from, to);
      if (!moved) return std::nullopt;
      operand = *moved;
    }
    return if_possible(std::move(kernel));
  }

  /// The kernel with `to` in place of its one result, `from`.
  std::optional<GraphKernel> writing(GraphKernel kernel, const GraphTensor& from,
                                     const GraphTensor& to) const {
    if (kernel.results.size() != 1 || touches(kernel.operands, to)) return std::nullopt;
    auto moved = relocated(kernel.results.front(), from, to);
    if (!moved && kernel.traits.as<Expression>()) {
      const auto split = under_shape(kernel, sizes_of(shared_dimensions(from, to)));
      if (split) kernel = *split;
      moved = relocated(kernel.results.front(), from, to);
    }
    const auto elements = [](const GraphTensor& tensor) {
      return TensorSpec{tensor.shape, {}}.elements();
    };
    if (!moved || elements(*moved) != elements(from)) return std::nullopt;
    kernel.results.front() = *moved;
    return if_possible(std::move(kernel));
  }

  /// The kernel, if it takes tensors of any strides and has room in SBUF.
  std::optional<GraphKernel> if_possible(GraphKernel kernel) const {
    const FusionTraits& traits = kernel.traits;
    const bool opaque = std::holds_alternative<std::monostate>(traits.computes);
    const bool possible =
        (!opaque || !traits.operands.empty()) && can_emit(kernel, graph_.architecture);
    return possible ? std::optional(std::move(kernel)) : std::nullopt;
  }

  Graph& graph_;
  std::vector<GraphKernel>& kernels_;
};

}  // namespace

void drop_copies(Graph& graph) { Copies(graph).run(); }

}  // namespace neuron_sim
