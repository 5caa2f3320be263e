#include "ops/graph/slice_batch.h"

#include <algorithm>
#include <array>
#include <limits>
#include <map>
#include <utility>

#include "ops/matmul/matrix_product.h"
#include "ops/rows/row_program.h"

namespace neuron_sim {
namespace {

/// Numbers of slices to choose from.
constexpr std::array<int64_t, 11> kSlices{2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

/// The dimension with the longest stride among those of several elements; empty without one.
std::optional<size_t> outermost(const GraphTensor& tensor) {
  std::optional<size_t> found;
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.shape[d] > 1 && (!found || tensor.strides[d] > tensor.strides[*found])) found = d;
  }
  return found;
}

/// Which operands have a part per slice, when results are cut along dimension `cut`; empty when
/// the kernel cannot be cut there.
std::optional<std::vector<bool>> cut_operands(const GraphKernel& kernel, size_t cut) {
  std::vector<bool> all(kernel.operands.size(), true);
  const FusionTraits& traits = kernel.traits;
  if (traits.as<Expression>()) return all;
  if (const auto* const rows = traits.as<RowProgram>()) {
    return rows->reduced[cut] ? std::nullopt : std::optional(all);
  }
  if (traits.as<MatrixProductOptions>()) {
    const size_t rank = kernel.results.front().shape.size();
    if (cut == rank - 1) return std::nullopt;
    all[1] = cut < rank - 2;
    return all;
  }
  if (!traits.is_batched() || cut != 0) return std::nullopt;
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = i < traits.operands.size() && traits.operands[i].batched;
  }
  return all;
}

/// Part `slice` of the tensor along dimension `cut`; false when the parts would differ in size.
bool take(GraphTensor& tensor, size_t cut, int64_t slice, int64_t slices) {
  if (cut >= tensor.shape.size() || tensor.shape[cut] % slices != 0) return false;
  tensor.shape[cut] /= slices;
  tensor.byte_offset += slice * tensor.shape[cut] * tensor.strides[cut] * itemsize(tensor.dtype);
  return true;
}

/// What one slice of a kernel touches.
struct CutTensors {
  std::vector<GraphTensor> operands, results;
};

std::optional<CutTensors> cut_tensors(const GraphKernel& kernel, int64_t slice, int64_t slices) {
  const auto cut = outermost(kernel.results.front());
  const auto cuts = cut ? cut_operands(kernel, *cut) : std::nullopt;
  if (!cuts) return std::nullopt;
  CutTensors part{kernel.operands, kernel.results};
  for (size_t i = 0; i < part.operands.size(); ++i) {
    if ((*cuts)[i] && !take(part.operands[i], *cut, slice, slices)) return std::nullopt;
  }
  for (GraphTensor& result : part.results) {
    if (!take(result, *cut, slice, slices)) return std::nullopt;
  }
  return part;
}

/// Bytes of the elements, those that repeat once.
int64_t bytes_of(const GraphTensor& tensor) {
  int64_t bytes = itemsize(tensor.dtype);
  for (size_t d = 0; d < tensor.shape.size(); ++d) {
    if (tensor.strides[d] != 0) bytes *= tensor.shape[d];
  }
  return bytes;
}

/// What a kernel moves: bytes of each scratch memory, and of what all slices read whole.
struct Traffic {
  struct Share {
    size_t life;  ///< index of the memory's
    int64_t bytes;
  };
  std::vector<Share> memories;
  int64_t shared = 0;
};

class Slicing {
 public:
  Slicing(const std::vector<GraphKernel>& kernels,
          const std::function<bool(size_t memory)>& is_external, int64_t room, int64_t slice_bytes)
      : kernels_(kernels), room_(room), slice_bytes_(slice_bytes) {
    std::map<size_t, size_t> lives;  // by memory
    for (size_t i = 0; i < kernels.size(); ++i) {
      std::map<size_t, int64_t> memories;
      traffic_.push_back({{}, shared_bytes(kernels[i], is_external, memories)});
      for (const auto& [memory, bytes] : memories) {
        const auto [entry, is_new] = lives.try_emplace(memory, lives_.size());
        if (is_new) lives_.push_back({i, i, bytes});
        Life& life = lives_[entry->second];
        life.last = i;
        life.bytes = std::max(life.bytes, bytes);
        traffic_.back().memories.push_back({entry->second, bytes});
      }
    }
  }

  std::vector<GraphStretch> run() {
    const size_t count = kernels_.size();
    struct Best {
      int64_t bytes = std::numeric_limits<int64_t>::max();
      GraphStretch last{};
    };
    std::vector<Best> best(count + 1);
    best[0].bytes = 0;
    const auto offer = [&](const GraphStretch& stretch, int64_t bytes) {
      const int64_t total = best[stretch.begin].bytes + bytes;
      if (total < best[stretch.end].bytes) best[stretch.end] = {total, stretch};
    };
    const std::vector<int64_t> whole = bytes_by_kernel({0, count, 1});
    const bool fits = std::all_of(whole.begin(), whole.end(), [](int64_t b) { return b == 0; });
    if (fits) return {{0, count, 1}};
    const std::vector<Reach> all = reaches();
    for (size_t begin = 0; begin < count; ++begin) {
      offer({begin, begin + 1, 1}, whole[begin]);
      for (const Reach& reach : all) {
        for (size_t end = begin + 2; end <= reach.ends[begin]; ++end) {
          const GraphStretch stretch{begin, end, reach.slices};
          offer(stretch, bytes_of_stretch(stretch));
        }
      }
    }
    std::vector<GraphStretch> stretches;
    for (size_t end = count; end > 0; end = stretches.back().begin) {
      stretches.push_back(best[end].last);
    }
    std::reverse(stretches.begin(), stretches.end());
    return stretches;
  }

 private:
  struct Life {
    size_t first, last;
    int64_t bytes;
  };
  /// Per kernel: where the longest stretch that begins there ends.
  struct Reach {
    int64_t slices;
    std::vector<size_t> ends;
  };

  /// Bytes that all slices of the kernel read whole; adds those of the scratch memories it touches.
  static int64_t shared_bytes(const GraphKernel& kernel,
                              const std::function<bool(size_t memory)>& is_external,
                              std::map<size_t, int64_t>& memories) {
    int64_t shared = 0;
    const auto cut = outermost(kernel.results.front());
    const auto cuts = cut ? cut_operands(kernel, *cut) : std::nullopt;
    const auto add = [&](const GraphTensor& tensor, bool is_cut) {
      if (!is_cut) shared += bytes_of(tensor);
      if (is_external(tensor.memory)) return;
      int64_t& bytes = memories[tensor.memory];
      bytes = std::max(bytes, bytes_of(tensor));
    };
    for (size_t i = 0; i < kernel.operands.size(); ++i) {
      add(kernel.operands[i], cuts && (*cuts)[i] && kernel.operands[i].strides[*cut] != 0);
    }
    for (const GraphTensor& result : kernel.results) add(result, true);
    return shared;
  }

  /// Whether no slice of one kernel touches what another slice of the other one writes.
  static bool are_independent(const std::vector<CutTensors>& a, const std::vector<CutTensors>& b) {
    for (size_t i = 0; i < a.size(); ++i) {
      for (size_t j = 0; j < b.size(); ++j) {
        const bool meet = touches(a[i].results, b[j].operands) ||
                          touches(a[i].operands, b[j].results) ||
                          touches(a[i].results, b[j].results);
        if (i != j && meet) return false;
      }
    }
    return true;
  }

  /// Per kernel its slices; none of a kernel that cannot be cut into so many.
  std::vector<std::vector<CutTensors>> all_slices(int64_t slices) const {
    std::vector<std::vector<CutTensors>> found(kernels_.size());
    for (size_t i = 0; i < kernels_.size(); ++i) {
      for (int64_t slice = 0; slice < slices; ++slice) {
        std::optional<CutTensors> tensors = cut_tensors(kernels_[i], slice, slices);
        if (!tensors) break;
        found[i].push_back(std::move(*tensors));
      }
    }
    return found;
  }

  std::vector<Reach> reaches() const {
    const size_t count = kernels_.size();
    std::vector<std::pair<size_t, size_t>> dependent;  // by the later one
    for (size_t b = 0; b < count; ++b) {
      for (size_t a = 0; a <= b; ++a) {
        if (depend(kernels_[a], kernels_[b])) dependent.emplace_back(a, b);
      }
    }
    std::vector<Reach> found;
    for (const int64_t slices : kSlices) {
      const std::vector<std::vector<CutTensors>> parts = all_slices(slices);
      std::vector<size_t> begins(count);  // per kernel: the first from which a stretch may reach it
      for (size_t i = 0; i < count; ++i) begins[i] = parts[i].empty() ? i + 1 : 0;
      for (const auto& [a, b] : dependent) {
        if (begins[b] > a || parts[a].empty()) continue;
        if (!are_independent(parts[a], parts[b])) begins[b] = a + 1;
      }
      Reach reach{slices, std::vector<size_t>(count)};
      for (size_t begin = 0; begin < count; ++begin) {
        size_t end = begin;
        while (end < count && begins[end] <= begin) ++end;
        reach.ends[begin] = end;
      }
      found.push_back(std::move(reach));
    }
    return found;
  }

  /// Bytes that each kernel of the stretch stores to HBM or loads from there because they do not
  /// fit: all of a memory that leaves a stretch of several slices, and of one that lives while
  /// more than the room is needed.
  std::vector<int64_t> bytes_by_kernel(const GraphStretch& stretch) const {
    const size_t count = stretch.end - stretch.begin;
    std::vector<int64_t> needed(count), moved(count);
    std::vector<size_t> inside;               // memories
    std::vector<bool> leaves(lives_.size());  // or do not fit
    for (size_t i = 0; i < count; ++i) {
      for (const Traffic::Share& share : traffic_[stretch.begin + i].memories) {
        const Life& life = lives_[share.life];
        if (life.first < stretch.begin || life.last >= stretch.end) leaves[share.life] = true;
        if (leaves[share.life] || life.first != stretch.begin + i) continue;
        inside.push_back(share.life);
        for (size_t at = life.first; at <= life.last; ++at) {
          needed[at - stretch.begin] += life.bytes / stretch.slices;
        }
      }
    }
    for (const size_t memory : inside) {
      const Life& life = lives_[memory];
      const auto first = needed.begin() + static_cast<std::ptrdiff_t>(life.first - stretch.begin);
      const auto last = first + static_cast<std::ptrdiff_t>(life.last - life.first + 1);
      leaves[memory] = std::any_of(first, last, [&](int64_t bytes) { return bytes > room_; });
    }
    for (size_t i = 0; i < count; ++i) {
      for (const Traffic::Share& share : traffic_[stretch.begin + i].memories) {
        if (leaves[share.life]) moved[i] += share.bytes;
      }
    }
    return moved;
  }

  int64_t bytes_of_stretch(const GraphStretch& stretch) const {
    int64_t bytes = 0;
    for (const int64_t moved : bytes_by_kernel(stretch)) bytes += moved;
    for (size_t i = stretch.begin; i < stretch.end; ++i) {
      bytes += (stretch.slices - 1) * (traffic_[i].shared + slice_bytes_);
    }
    return bytes;
  }

  const std::vector<GraphKernel>& kernels_;
  const int64_t room_, slice_bytes_;
  std::vector<Traffic> traffic_;
  std::vector<Life> lives_;  ///< of scratch memories
};

}  // namespace

std::optional<GraphKernel> sliced(const GraphKernel& kernel, int64_t slice, int64_t slices) {
  std::optional<CutTensors> tensors = cut_tensors(kernel, slice, slices);
  if (!tensors) return std::nullopt;
  GraphKernel part = kernel;
  part.operands = std::move(tensors->operands);
  part.results = std::move(tensors->results);
  part.slice = slice;
  return part;
}

void run_in_slices(Graph& graph, const std::vector<GraphStretch>& stretches) {
  std::vector<GraphKernel> kernels;
  for (const GraphStretch& stretch : stretches) {
    for (int64_t slice = 0; slice < stretch.slices; ++slice) {
      for (size_t i = stretch.begin; i < stretch.end; ++i) {
        const GraphKernel& whole = graph.kernels[i];
        kernels.push_back(stretch.slices == 1 ? whole : *sliced(whole, slice, stretch.slices));
      }
    }
  }
  graph.kernels = std::move(kernels);
}

std::vector<GraphStretch> slice_batch(const std::vector<GraphKernel>& kernels,
                                      const std::function<bool(size_t memory)>& is_external,
                                      int64_t room, int64_t slice_bytes) {
  return Slicing(kernels, is_external, room, slice_bytes).run();
}

}  // namespace neuron_sim
