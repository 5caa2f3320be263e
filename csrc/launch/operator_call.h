#pragma once
// The operators and nodes of autograd that are running on a thread, as PyTorch reports them to
// observers (at::RecordFunction).

#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/record_function.h>
#include <c10/util/SmallVector.h>

#include <atomic>
#include <optional>
#include <string>
#include <vector>

#include "csrc/launch/launch_origin.h"

namespace neuron_sim {

/// What records tell of a tensor.
struct TensorShape {
  explicit TensorShape(const at::Tensor& tensor)
      : dtype(tensor.scalar_type()), sizes(tensor.sizes().begin(), tensor.sizes().end()) {}
  /// Appends bytes that differ for shapes that differ.
  void add_to(std::string& key) const;

  at::ScalarType dtype;
  c10::SmallVector<int64_t, 5> sizes;
};

/// A call of an operator, or of a node of autograd, that is running.
class OperatorCall {
 public:
  explicit OperatorCall(const at::RecordFunction& function);
  /// The tensors that it reads, with the names of its schema.
  std::string operands() const;
  /// What operands() follows from, as bytes: shorter to make than the text.
  std::string key() const;
  const char* name() const { return function_->name(); }
  /// Whether it is a range of PyTorch's engine around a node: launches are not its own.
  bool is_engine_range() const { return is_engine_range_; }
  /// For a node of autograd, and for what the engine does with its gradients: the place of the call
  /// of which it is the gradient, if that was seen.
  const std::optional<CallingPlace>& forward_place() const { return forward_place_; }
  void set_forward_place(const CallingPlace& place) { forward_place_ = place; }
  bool ended() const { return ended_; }
  void end() { ended_ = true; }

 private:
  struct Operand {
    size_t argument;
    std::optional<size_t> place;  ///< in a list
    TensorShape shape;
  };
  void add(size_t argument, std::optional<size_t> place, const at::Tensor& tensor);

  const at::RecordFunction* function_;  ///< until it ends
  std::vector<Operand> operands_;
  std::optional<CallingPlace> forward_place_;
  bool is_engine_range_;
  std::atomic<bool> ended_ = false;
};

/// "name [2, 3] float32".
std::string tensor_text(const std::string& name, at::IntArrayRef sizes, at::ScalarType dtype);
/// "operator 'aten::mm' of self [2, 3] float32, mat2 [3, 4] float32", for arguments on `stack`.
std::string operator_text(const c10::OperatorHandle& op, const torch::jit::Stack& stack);

}  // namespace neuron_sim
