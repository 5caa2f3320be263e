#include "csrc/launch/launch_origin.h"

#include <ATen/core/grad_mode.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>
#include <unordered_map>
#include <utility>
#include <vector>

#include "csrc/launch/operator_call.h"
#include "device/base/errors.h"

namespace neuron_sim {
namespace {

struct Following {
  std::atomic<bool> active = false;
  std::mutex mutex;  ///< of the members below
  at::CallbackHandle callback{};
  /// By thread and sequence number, which nodes of autograd take from the calls that make them.
  std::map<std::pair<uint64_t, int64_t>, CallingPlace> places;
  /// By what they follow from.
  std::unordered_map<std::string, std::shared_ptr<const std::string>> shapes;
  std::shared_ptr<const std::function<CallingPlace()>> finder;
};

/// Never destroyed: threads may launch until the process ends.
Following& following() {
  static auto* instance = new Following;
  return *instance;
}

using Calls = std::vector<std::shared_ptr<OperatorCall>>;

/// The calls of this thread, innermost last. One may end on another thread.
Calls& calls() {
  thread_local Calls open;
  while (!open.empty() && open.back()->ended()) open.pop_back();
  return open;
}

thread_local std::vector<TensorShape> results;  // of the launches of this thread
constexpr size_t kKeptShapes = 4096;

/// The innermost call that runs and is `wanted`; nullptr without one.
template <typename Wanted>
const OperatorCall* innermost(const Wanted& wanted) {
  const Calls& open = calls();
  const auto found = std::find_if(open.rbegin(), open.rend(), [&](const auto& call) {
    return !call->ended() && wanted(*call);
  });
  return found == open.rend() ? nullptr : found->get();
}

/// In a node of autograd the place of the call of which it is the gradient, unless it calls a
/// module (checkpointing).
CallingPlace current_place() {
  std::shared_ptr<const std::function<CallingPlace()>> finder;
  {
    const std::lock_guard lock(following().mutex);
    finder = following().finder;
  }
  CallingPlace place = finder ? (*finder)() : CallingPlace{};
  if (!place.module.empty()) return place;
  const OperatorCall* node =
      innermost([](const OperatorCall& call) { return call.forward_place().has_value(); });
  return node == nullptr ? place : *node->forward_place();
}

bool requires_grad(const c10::IValue& value) {
  if (value.isTensor()) return value.toTensor().defined() && value.toTensor().requires_grad();
  if (!value.isTensorList()) return false;
  const std::vector<at::Tensor> list = value.toTensorVector();
  return std::any_of(list.begin(), list.end(), [](const at::Tensor& tensor) {
    return tensor.defined() && tensor.requires_grad();
  });
}

/// Keeps the place of a call that may make a node of autograd.
void keep_place(const at::RecordFunction& function) {
  if (function.seqNr() < 0 || !at::GradMode::is_enabled()) return;
  const auto inputs = function.inputs();
  if (std::none_of(inputs.begin(), inputs.end(), requires_grad)) return;
  CallingPlace place = current_place();
  const std::lock_guard lock(following().mutex);
  following().places.insert_or_assign({function.threadId(), function.seqNr()}, std::move(place));
}

void set_forward_place(const at::RecordFunction& function, OperatorCall& node) {
  const std::lock_guard lock(following().mutex);
  const auto found = following().places.find({function.forwardThreadId(), function.seqNr()});
  if (found != following().places.end()) node.set_forward_place(found->second);
}

struct CallContext : at::ObserverContext {
  std::shared_ptr<OperatorCall> call;
};

std::unique_ptr<at::ObserverContext> begin_call(const at::RecordFunction& function) {
  auto context = std::make_unique<CallContext>();
  context->call = std::make_shared<OperatorCall>(function);
  if (function.scope() == at::RecordScope::BACKWARD_FUNCTION) {
    set_forward_place(function, *context->call);
  } else {
    keep_place(function);
  }
  calls().push_back(context->call);
  return context;
}

void end_call(const at::RecordFunction& function, at::ObserverContext* context) {
  OperatorCall& call = *static_cast<CallContext*>(context)->call;
  call.end();
  const Calls& open = calls();
  const bool is_node = function.scope() == at::RecordScope::BACKWARD_FUNCTION;
  if (!is_node || open.empty() || !open.back()->is_engine_range()) return;
  // What the engine does with the gradients of a node: it sums them over broadcast dimensions.
  if (call.forward_place()) open.back()->set_forward_place(*call.forward_place());
}

std::string results_text() {
  std::string list;
  for (size_t i = 0; i < results.size(); ++i) {
    const std::string name = results.size() == 1 ? "out" : text("out", i);
    list += (list.empty() ? "" : ", ") + tensor_text(name, results[i].sizes, results[i].dtype);
  }
  return list;
}

/// The text of the operands and results. Operators name their arguments in a schema, which PyTorch
/// copies for each caller, so the text is made once for the calls that are alike.
std::shared_ptr<const std::string> shapes_of(const OperatorCall& call) {
  std::string key = call.key();
  for (const TensorShape& result : results) result.add_to(key);
  const std::lock_guard lock(following().mutex);
  auto& known = following().shapes;
  if (known.size() >= kKeptShapes) known.clear();
  std::shared_ptr<const std::string>& shapes = known[key];
  if (shapes) return shapes;
  std::string list = call.operands();
  if (!results.empty()) list += " -> " + results_text();
  return shapes = std::make_shared<const std::string>(std::move(list));
}

}  // namespace

LaunchOrigin current_origin() {
  const OperatorCall* call =
      innermost([](const OperatorCall& each) { return !each.is_engine_range(); });
  if (call == nullptr) return {"", current_place(), nullptr};
  return {call->name(), current_place(), shapes_of(*call)};
}

LaunchResults::LaunchResults(at::TensorList tensors) {
  for (const at::Tensor& tensor : tensors) results.emplace_back(tensor);
}

LaunchResults::~LaunchResults() { results.clear(); }

void set_place_finder(std::function<CallingPlace()> finder) {
  auto kept = std::make_shared<const std::function<CallingPlace()>>(std::move(finder));
  const std::lock_guard lock(following().mutex);
  following().finder = std::move(kept);
}

bool follows_operators() { return following().active.load(std::memory_order_relaxed); }

void follow_operators(bool wanted) {
  if (following().active.exchange(wanted) == wanted) return;
  const std::lock_guard lock(following().mutex);
  if (wanted) {
    const auto scopes = {at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION};
    following().callback = at::addGlobalCallback(
        at::RecordFunctionCallback(begin_call, end_call).needsInputs(true).scopes(scopes));
  } else {
    at::removeCallback(following().callback);
    following().places.clear();
    following().shapes.clear();
  }
}

}  // namespace neuron_sim
