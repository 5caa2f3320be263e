#pragma once
// A graph of kernels that becomes one program: what they read and write, how they are emitted.

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/program/program.h"
#include "ops/contract/fusion_traits.h"

namespace neuron_sim {

/// A tensor in one of the memories of a graph. Memories never overlap each other.
struct GraphTensor {
  size_t memory = 0;             ///< number of the memory
  int64_t byte_offset = 0;       ///< of the first element in it
  Dtype dtype{};                 ///< of the elements as the kernel sees them
  std::vector<int64_t> shape;    ///< sizes
  std::vector<int64_t> strides;  ///< elements, not negative
  bool operator==(const GraphTensor&) const = default;

  /// First byte after the last element.
  int64_t end() const;
};

struct GraphKernel {
  std::string name;
  EmitKernel emit;
  std::vector<GraphTensor> operands, results;
  FusionTraits traits{};
  /// What the kernel is instead of what `emit`, then empty, emits (embedded_program.h).
  std::shared_ptr<const Program> program{};
  /// The part of the model that it computes ("layers.0.attention"): the source line of its
  /// instructions. A kernel that takes in others keeps its own.
  std::string source{};
  int64_t slice = 0;  ///< of the batch, where it is one of several (slice_batch.h)
};

/// The kernels of one program.
struct Graph {
  std::vector<GraphKernel> kernels;  ///< in their order
  /// Whether a memory has contents before the program, or is read after it; nothing else sees the
  /// others.
  std::function<bool(size_t memory)> is_external;
  const Architecture& architecture;
};

/// Whether the bytes between first and last element of the two overlap.
bool may_overlap(const GraphTensor& a, const GraphTensor& b);
/// Whether one of `tensors` may overlap `tensor`, or one of `others`.
bool touches(const std::vector<GraphTensor>& tensors, const GraphTensor& tensor);
bool touches(const std::vector<GraphTensor>& tensors, const std::vector<GraphTensor>& others);
/// Whether the order of the two kernels must be kept: one writes what the other one touches.
bool depend(const GraphKernel& a, const GraphKernel& b);
/// Whether `second` reads results of `first`, and neither overwrites what the other one touches.
bool feeds(const GraphKernel& first, const GraphKernel& second);
/// Whether the kernel at `from` commutes with all kernels between it and `to`.
bool can_move(const std::vector<GraphKernel>& kernels, size_t from, size_t to);
/// Whether `tensor` is read after kernel `last`: by a later one, or after the graph.
bool is_read_after(const Graph& graph, size_t last, const GraphTensor& tensor);
/// Leaves out kernels without results: those that a pass has moved into others.
void drop_joined(Graph& graph);
/// join(kernel, reader), where it is not empty, in place of every kernel and the first one after it
/// that reads its results, when that one can move there and nothing else reads the first of them.
void join_only_readers(
    Graph& graph,
    const std::function<std::optional<GraphKernel>(const GraphKernel&, const GraphKernel&)>& join);
/// The kernels after a pass for a reader: "after fuse_rows: 2 kernels", then a line for each:
/// "  rows memory0+64 [5, 12] float32, ... -> ...", with the byte at which a tensor begins.
std::string listing(const Graph& graph, std::string_view pass);
/// The tensors as scratch memory of a program that only shows what fits.
std::vector<HbmTensor> declared(Builder& builder, const std::vector<GraphTensor>& tensors);
/// Whether the tiles of the kernel fit SBUF.
bool can_emit(const GraphKernel& kernel, const Architecture& architecture);
/// Whether a product has room in SBUF for its whole contracted dimension (product_is_resident).
bool product_fits(const GraphKernel& product, const Architecture& architecture);

}  // namespace neuron_sim
