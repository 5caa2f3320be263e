#pragma once
// One program of many kernels: memory that only they use is scratch HBM of the program.

#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <vector>

#include "device/compiler/settings/pass_settings.h"
#include "device/program/program.h"
#include "ops/graph/kernels/graph_kernel.h"

namespace neuron_sim {

/// The compiler's passes for the program of a whole graph. Not a published stack: what the vendor's
/// compiler makes of a graph is not known; these keep every byte and shorten programs.
PassSettings graph_passes();

struct GraphProgramOptions {
  bool fuse = true;  ///< pointwise kernels are joined (fuse_pointwise.h)
  /// Whether transposes of operands on chip move every bit where the Tensor engine cannot
  /// (features.exact_transpose): one that multiplies by an identity makes a row of a tile NaN
  /// where one of its elements is NaN or infinite.
  bool exact_transposes = false;
  PassSettings passes = graph_passes();  ///< over the whole program
  /// The passes of GraphStage::kOrder to leave out: those of a graph that was weighed. Without:
  /// each that changes something is weighed.
  std::optional<std::set<std::string>> left_out = {};
};

/// Where an argument of the program begins.
struct GraphArgument {
  size_t memory = 0;
  int64_t byte_offset = 0;
};

struct GraphProgram {
  std::shared_ptr<const Program> program;
  std::vector<GraphArgument> arguments;
  size_t kernels = 0;  ///< emitted, after joining; slices of one count as one
  /// Why the compiler's passes changed nothing; empty when they ran.
  std::string unchanged;
  /// Passes left out because SBUF cannot hold what they keep.
  std::vector<std::string> skipped_passes;
  std::vector<std::string> left_out;  ///< GraphProgramOptions::left_out, or what was weighed
};

/// Emits the kernels in their order into one program. Memories for which `is_external` holds are
/// arguments: they have contents before, or are read after the program. All others are scratch
/// tensors. Choices between equal results (GraphStage::kOrder) are weighed by the time of the whole
/// program, each by one more compilation. KernelError as the kernels' own emit functions raise it,
/// and as check_orders().
GraphProgram build_graph_program(const Architecture& architecture, const std::string& name,
                                 std::vector<GraphKernel> kernels,
                                 const std::function<bool(size_t memory)>& is_external,
                                 const GraphProgramOptions& options);

}  // namespace neuron_sim
