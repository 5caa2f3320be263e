// Connectionist temporal classification. Algorithm: log-probabilities of all prefixes (alpha) and
// suffixes (beta) of the labels with blanks between them, one kernel per time step for all
// sequences; the labels' places are int64 index arithmetic.

#include <ATen/TensorOperators.h>
#include <ATen/ops/exp.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logaddexp.h>
#include <ATen/ops/where.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>
#include <c10/core/DeviceGuard.h>

#include <algorithm>
#include <limits>
#include <numeric>

#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/rows.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;

constexpr double kNever = -std::numeric_limits<double>::infinity();
constexpr int64_t kEdge = 2;  // states that do not exist, next to the first and the last one

/// The targets on the device: N sequences, S = 2 L + 1 states of the longest target.
struct Labels {
  Tensor states;  ///< int64 [N, S]: the label of each state, blank ones between
  Tensor skips;   ///< [N, S + 2]: 0 where the state may follow the one before the last, else -inf
  Tensor ends;    ///< [N, S]: 0 at the last two states, else -inf
  Tensor last;    ///< int64 [N, 2]: the last two states among S + 2 with the edge in front
  Tensor valid;   ///< [T + 1, N, 1]: 1 for time steps of the sequence, else 0
  Tensor final;   ///< [T, N, 1]: 0 at the last time step, else -inf
};

/// Row n of the targets: of a matrix, or of all targets one after the other.
const int64_t* target_of(const Tensor& targets, int64_t n, IntArrayRef lengths) {
  const int64_t* const data = targets.const_data_ptr<int64_t>();
  if (targets.dim() == 2) return data + n * targets.size(1);
  int64_t start = 0;
  for (int64_t i = 0; i < n; ++i) start += lengths[static_cast<size_t>(i)];
  return data + start;
}

/// The labels that the lengths name are in the targets: [N, L], or all one after the other.
void check_targets(const Tensor& targets, int64_t count, IntArrayRef lengths) {
  const auto negative =
      std::find_if(lengths.begin(), lengths.end(), [](int64_t n) { return n < 0; });
  TORCH_CHECK(negative == lengths.end(),
              "Expected target_lengths to have value at least 0, but got ", "value ", *negative);
  const bool is_matrix = targets.dim() == 2;
  TORCH_CHECK(is_matrix || targets.dim() == 1, "ctc_loss: targets have ", targets.dim(),
              " dimensions, expected 1 or 2");
  const int64_t rows =
      is_matrix ? count : std::accumulate(lengths.begin(), lengths.end(), int64_t{0});
  TORCH_CHECK(targets.size(0) == rows, "Expected tensor to have size ", rows, " at dimension 0, ",
              "but got size ", targets.size(0),
              " for argument 'targets' (while checking arguments ", "for ctc_loss)");
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  TORCH_CHECK(!is_matrix || targets.size(1) >= longest, "Expected tensor to have size at least ",
              longest, " at dimension 1, but got size ", is_matrix ? targets.size(1) : 0,
              " for argument 'targets' (while checking arguments for ctc_loss)");
}

Labels labels_of(const Tensor& log_probs, const Tensor& given, IntArrayRef steps,
                 IntArrayRef lengths, int64_t blank) {
  const int64_t time = log_probs.size(0), count = log_probs.size(1);
  TORCH_CHECK(static_cast<int64_t>(steps.size()) == count, "input_lengths must be of size ",
              "batch_size");
  TORCH_CHECK(static_cast<int64_t>(lengths.size()) == count, "target_lengths must be of size ",
              "batch_size");
  check_targets(given, count, lengths);
  TORCH_CHECK(blank >= 0 && blank < log_probs.size(2), "blank must be in label range");
  const Tensor targets = given.to(at::kCPU, at::kLong).contiguous();
  const int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
  const int64_t states = 2 * longest + 1;
  const auto numbers = at::TensorOptions().dtype(at::kFloat);
  const auto whole = at::TensorOptions().dtype(at::kLong);
  Labels labels{at::full({count, states}, blank, whole),
                at::full({count, states + kEdge}, kNever, numbers),
                at::full({count, states}, kNever, numbers),
                at::zeros({count, 2}, whole),
                at::zeros({time + 1, count, 1}, numbers),
                at::full({time, count, 1}, kNever, numbers)};
  for (int64_t n = 0; n < count; ++n) {
    const int64_t length = lengths[static_cast<size_t>(n)], end = steps[static_cast<size_t>(n)];
    TORCH_CHECK(end <= time, "Expected input_lengths to have value at most ", time,
                ", but got value ", end);
    const int64_t* const target = target_of(targets, n, lengths);
    auto* const state = labels.states.data_ptr<int64_t>() + n * states;
    auto* const skip = labels.skips.data_ptr<float>() + n * (states + kEdge);
    for (int64_t i = 0; i < length; ++i) {
      state[2 * i + 1] = target[i];
      if (i > 0 && target[i] != target[i - 1]) skip[2 * i + 1] = 0;
    }
    labels.ends[n][2 * length] = 0;
    if (length > 0) labels.ends[n][2 * length - 1] = 0;
    labels.last[n][0] = kEdge + 2 * length;
    labels.last[n][1] = kEdge + 2 * length - 1;
    labels.valid.narrow(0, 0, end).select(1, n).fill_(1);
    if (end > 0) labels.final[end - 1][n] = 0;
  }
  for (Tensor* const tensor :
       {&labels.states, &labels.skips, &labels.ends, &labels.last, &labels.valid, &labels.final}) {
    *tensor = tensor->to(log_probs.device());
  }
  return labels;
}

/// log(e^a + e^b + e^c).
ElementValue sum_of_three(ElementValue a, ElementValue b, ElementValue c) {
  const ElementValue largest = maximum(a, maximum(b, c));
  const ElementValue zero = largest.expression().constant(0);
  const ElementValue base = select(compare(AluOp::kEqual, largest, kNever), zero, largest);
  const auto power = [&](ElementValue x) { return call(Activation::kExp, x - base); };
  return call(Activation::kLog, power(a) + power(b) + power(c)) + base;
}

/// [T, N, S]: the log-probability of each state's label.
Tensor emissions(const Tensor& log_probs, const Labels& labels) {
  const IntArrayRef states = labels.states.sizes();
  return log_probs.to(at::kFloat)
      .gather(2, labels.states.unsqueeze(0).expand({log_probs.size(0), states[0], states[1]}));
}

/// [T, N, S + 2], the edge in front: log-probabilities of the emissions up to t and the state at t.
Tensor prefixes(const Tensor& emitted, const Labels& labels) {
  const int64_t time = emitted.size(0), count = emitted.size(1), states = emitted.size(2);
  const Tensor alpha = at::full({time, count, states + kEdge}, kNever, emitted.options());
  const int64_t first = std::min<int64_t>(states, 2);
  if (time > 0) alpha[0].narrow(1, kEdge, first).copy_(emitted[0].narrow(1, 0, first));
  const Tensor skips = labels.skips.narrow(1, 0, states);
  const Expression step = make_expression([](Expression& e) {
    const ElementValue same = e.input(0);
    const ElementValue next = sum_of_three(same, e.input(1), e.input(2) + e.input(3)) + e.input(4);
    return select(e.input(5), next, same);
  });
  for (int64_t t = 1; t < time; ++t) {
    const Tensor before = alpha[t - 1];
    run_pointwise(step,
                  {before.narrow(1, 2, states), before.narrow(1, 1, states),
                   before.narrow(1, 0, states), skips, emitted[t], labels.valid[t]},
                  alpha[t].narrow(1, kEdge, states));
  }
  return alpha;
}

/// [T, N, S + 2], the edge after: log-probabilities of the emissions from t on.
Tensor suffixes(const Tensor& emitted, const Labels& labels) {
  const int64_t time = emitted.size(0), count = emitted.size(1), states = emitted.size(2);
  const Tensor beta = at::full({time + 1, count, states + kEdge}, kNever, emitted.options());
  const Tensor skips = labels.skips.narrow(1, kEdge, states);
  const Expression step = make_expression([](Expression& e) {
    const ElementValue next = sum_of_three(e.input(0), e.input(1), e.input(2) + e.input(3));
    return select(e.input(5), next, e.input(6) + e.input(7)) + e.input(4);
  });
  for (int64_t t = time - 1; t >= 0; --t) {
    const Tensor after = beta[t + 1];
    run_pointwise(step,
                  {after.narrow(1, 0, states), after.narrow(1, 1, states),
                   after.narrow(1, 2, states), skips, emitted[t], labels.valid[t + 1], labels.ends,
                   labels.final[t]},
                  beta[t].narrow(1, 0, states));
  }
  return beta.narrow(0, 0, time).narrow(2, 0, states);
}

void check_probabilities(const Tensor& log_probs) {
  check_floating(log_probs);
  if (log_probs.numel() == 0) throw Refusal{"there are no elements"};
}

std::tuple<Tensor, Tensor> ctc_loss(const Tensor& log_probs, const Tensor& targets,
                                    IntArrayRef steps, IntArrayRef lengths, int64_t blank,
                                    bool /*zero_infinity*/) {
  check_probabilities(log_probs);
  const c10::DeviceGuard guard(log_probs.device());
  const Labels labels = labels_of(log_probs, targets, steps, lengths, blank);
  const Tensor alpha = prefixes(emissions(log_probs, labels), labels);
  const Tensor ends = alpha[log_probs.size(0) - 1].gather(1, labels.last);
  const Tensor likelihood = at::logaddexp(ends.select(1, 0), ends.select(1, 1));
  return {(-likelihood).to(log_probs.scalar_type()),
          alpha.narrow(2, kEdge, alpha.size(2) - kEdge).transpose(0, 1)};
}

/// The probability of a label minus that of its states: as in torch, the gradient for the input
/// of log_softmax.
Tensor ctc_loss_backward(const Tensor& gradient, const Tensor& log_probs, const Tensor& targets,
                         IntArrayRef steps, IntArrayRef lengths, const Tensor& loss,
                         const Tensor& log_alpha, int64_t blank, bool zero_infinity) {
  check_probabilities(log_probs);
  const c10::DeviceGuard guard(log_probs.device());
  const Labels labels = labels_of(log_probs, targets, steps, lengths, blank);
  const Tensor emitted = emissions(log_probs, labels);
  const Tensor joint = log_alpha.transpose(0, 1) + suffixes(emitted, labels);
  const Tensor known = loss.to(at::kFloat).view({1, -1, 1});
  const Tensor share =
      at::where(joint.eq(kNever), at::zeros_like(joint), at::exp(joint - emitted + known));
  const Tensor by_label =
      at::zeros(log_probs.sizes(), emitted.options())
          .scatter_add(2, labels.states.unsqueeze(0).expand(emitted.sizes()), share);
  const Tensor slope =
      (log_probs.to(at::kFloat).exp() - by_label) * gradient.to(at::kFloat).view({1, -1, 1});
  Tensor counted = labels.valid.narrow(0, 0, log_probs.size(0)).ne(0);
  if (zero_infinity) counted = counted.logical_and(known.ne(-kNever));
  return at::where(counted, slope, at::zeros_like(slope)).to(log_probs.scalar_type());
}

std::vector<int64_t> numbers_of(const Tensor& lengths) {
  const Tensor whole = lengths.to(at::kCPU, at::kLong).contiguous();
  const int64_t* const data = whole.const_data_ptr<int64_t>();
  return {data, data + whole.numel()};
}

std::tuple<Tensor, Tensor> ctc_loss_tensors(const Tensor& log_probs, const Tensor& targets,
                                            const Tensor& steps, const Tensor& lengths,
                                            int64_t blank, bool zero_infinity) {
  return ctc_loss(log_probs, targets, numbers_of(steps), numbers_of(lengths), blank, zero_infinity);
}

Tensor ctc_loss_backward_tensors(const Tensor& gradient, const Tensor& log_probs,
                                 const Tensor& targets, const Tensor& steps, const Tensor& lengths,
                                 const Tensor& loss, const Tensor& log_alpha, int64_t blank,
                                 bool zero_infinity) {
  return ctc_loss_backward(gradient, log_probs, targets, numbers_of(steps), numbers_of(lengths),
                           loss, log_alpha, blank, zero_infinity);
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("_ctc_loss", device_operator<ctc_loss>());
  m.impl("_ctc_loss.Tensor", device_operator<ctc_loss_tensors>());
  m.impl("_ctc_loss_backward", device_operator<ctc_loss_backward>());
  m.impl("_ctc_loss_backward.Tensor", device_operator<ctc_loss_backward_tensors>());
}

}  // namespace neuron_sim
