#include "ops/graph/share_results.h"

#include <algorithm>
#include <optional>
#include <type_traits>
#include <variant>

#include "ops/contract/kernel.h"
#include "ops/graph/kernels/tensor_match.h"
#include "ops/matmul/matrix_product.h"
#include "ops/pooling/max_pool.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {
namespace {

/// Whether both lists have tensors of the same sizes, strides and dtypes, each of them dense.
bool same_layouts(const std::vector<GraphTensor>& a, const std::vector<GraphTensor>& b) {
  return std::equal(
      a.begin(), a.end(), b.begin(), b.end(), [](const GraphTensor& x, const GraphTensor& y) {
        return x.shape == y.shape && x.strides == y.strides && x.dtype == y.dtype && is_dense(x);
      });
}

/// The operand in one of `to` where it lies in the one of `from` with the same index; itself when
/// it overlaps none, and empty when it is not elements of one of them.
std::optional<GraphTensor> moved(GraphTensor operand, const std::vector<GraphTensor>& from,
                                 const std::vector<GraphTensor>& to) {
  for (size_t i = 0; i < from.size(); ++i) {
    if (!may_overlap(operand, from[i])) continue;
    const bool inside =
        operand.byte_offset >= from[i].byte_offset && operand.end() <= from[i].end();
    if (!inside || operand.dtype != from[i].dtype) return std::nullopt;
    operand.memory = to[i].memory;
    operand.byte_offset += to[i].byte_offset - from[i].byte_offset;
    break;
  }
  return operand;
}

class Sharing {
 public:
  explicit Sharing(Graph& graph) : graph_(graph), kernels_(graph.kernels) {}

  void run() {
    for (size_t at = 1; at < kernels_.size(); ++at) {
      for (size_t before = at; before-- > 0;) {
        if (!compute_the_same(kernels_[before], kernels_[at]) || !can_share(before, at)) continue;
        share(before, at);
        break;
      }
    }
    drop_joined(graph_);
  }

 private:
  bool compute_the_same(const GraphKernel& a, const GraphKernel& b) const {
    if (a.operands != b.operands || !same_layouts(a.results, b.results)) return false;
    const std::optional<KernelKey> key = computation_of(a);
    return key && key == computation_of(b);
  }

  /// Numbers that are equal for equal computations; empty when its traits state none.
  std::optional<KernelKey> computation_of(const GraphKernel& kernel) const {
    const auto& computes = kernel.traits.computes;
    const auto key_of = [&](const auto& computed) -> std::optional<KernelKey> {
      if constexpr (std::is_same_v<std::decay_t<decltype(computed)>, std::monostate>) {
        return std::nullopt;
      } else {
        KernelKey key("", graph_.architecture);
        key.add(static_cast<int64_t>(computes.index()));
        add_option(key, *computed);
        return key;
      }
    };
    return std::visit(key_of, computes);
  }

  /// Whether the results at `before` have, for all readers of those at `at`, the same bytes.
  bool can_share(size_t before, size_t at) const {
    const GraphKernel &first = kernels_[before], &second = kernels_[at];
    const bool seen =
        std::any_of(second.results.begin(), second.results.end(),
                    [&](const GraphTensor& result) { return graph_.is_external(result.memory); });
    if (seen) return false;
    for (size_t i = 0; i < kernels_.size(); ++i) {
      const std::vector<GraphTensor>& written = kernels_[i].results;
      if (i != at && touches(written, second.results)) return false;
      if (i > before && touches(written, first.results)) return false;
      if (i >= before && i < at && touches(written, second.operands)) return false;
      if (i < at && touches(kernels_[i].operands, second.results)) return false;
      for (const GraphTensor& operand : kernels_[i].operands) {
        if (!moved(operand, second.results, first.results)) return false;
      }
    }
    return true;
  }

  void share(size_t before, size_t at) {
    const std::vector<GraphTensor> to = kernels_[before].results, from = kernels_[at].results;
    kernels_[at] = {};
    for (size_t i = at + 1; i < kernels_.size(); ++i) {
      for (GraphTensor& operand : kernels_[i].operands) operand = *moved(operand, from, to);
    }
  }

  Graph& graph_;
  std::vector<GraphKernel>& kernels_;
};

}  // namespace

void share_results(Graph& graph) { Sharing(graph).run(); }

}  // namespace neuron_sim
