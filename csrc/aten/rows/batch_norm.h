#pragma once
// batch_norm: statistics of every channel of [N, C, ...] over a batch, and their gradients.

#include <ATen/core/Tensor.h>

#include <optional>
#include <vector>

namespace neuron_sim {

using OptionalTensor = std::optional<at::Tensor>;

/// A vector of channels as [1, C, 1, ...].
at::Tensor per_channel(const at::Tensor& vector, const at::Tensor& input);
/// Per dimension of `input`, whether a sum over the elements of a channel covers it.
std::vector<bool> all_but_channels(const at::Tensor& input);
/// Elements of a channel.
int64_t count_of(const at::Tensor& input);

struct Moments {
  at::Tensor mean, variance;  ///< fp32 [C]; the variance is the biased one
};
Moments moments_of(const at::Tensor& input);

/// running = (1 - momentum) running + momentum factor observed, unless `running` is absent.
void update_running(const OptionalTensor& running, const at::Tensor& observed, double momentum,
                    double factor = 1);
/// (x - mean) inverse weight + bias.
at::Tensor normalised(const at::Tensor& input, const at::Tensor& mean, const at::Tensor& inverse,
                      const OptionalTensor& weight, const OptionalTensor& bias);

/// The operators below the front end of torch check no sizes: nothing may be read past its end.
/// Refusal when there are no elements; RuntimeError for vectors that do not have C elements.
void check_batch(const at::Tensor& input, const OptionalTensor& weight, const OptionalTensor& bias);
void check_statistics(const at::Tensor& input, const OptionalTensor& mean,
                      const OptionalTensor& variance, bool needed);

}  // namespace neuron_sim
