#pragma once
// Where a launch comes from: the operator of PyTorch with its tensors, the module, the user's line.

#include <ATen/core/Tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "csrc/runtime/export.h"

namespace neuron_sim {

/// Where a thread is in the program of the user.
struct CallingPlace {
  std::string module;  ///< path of the innermost module in the outermost one; "" for that one
  std::string line;    ///< "file:line" of the innermost frame outside the libraries
};

struct LaunchOrigin {
  /// The innermost operator, "aten::addmm", or node of autograd, "AddmmBackward0"; "" without one.
  std::string op;
  /// In a backward pass that of the call of which this is the gradient, if it was seen.
  CallingPlace place;
  /// The tensors that the operator reads, and those that the launch writes:
  /// "self [128] float32, mat1 [4, 64] float32 -> out [4, 128] float32"; of a list the first four.
  /// Null without an operator; launches that are alike share it.
  std::shared_ptr<const std::string> shapes;
};

/// Follows the operators of all threads from now on, or no longer: then they cost nothing more.
void follow_operators(bool wanted);
bool follows_operators();
/// Where a launch by this thread would come from now. Operators that began before they were
/// followed are not known.
LaunchOrigin current_origin();

/// Says which tensors the calling thread's launches write while it lives.
class LaunchResults {
 public:
  explicit LaunchResults(at::TensorList tensors);
  LaunchResults(const LaunchResults&) = delete;
  ~LaunchResults();
};

/// Tells the place of the calling thread; set by the Python module. Empty: programs without Python.
NEURON_SIM_TORCH_API void set_place_finder(std::function<CallingPlace()> finder);

}  // namespace neuron_sim
