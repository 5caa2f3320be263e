// Convolutions of a PrivateUse1 device are routed to these operators, which the boxed fallback
// cannot reach: they have a composite kernel that throws.

#include <ATen/native/ConvUtils.h>
#include <torch/library.h>

#include "csrc/aten/convolution/convolution.h"
#include "csrc/aten/dispatch/device_operator.h"
#include "csrc/aten/shared/memory_format.h"

namespace neuron_sim {
namespace {

using at::IntArrayRef;
using at::Tensor;
using OptionalTensor = std::optional<Tensor>;

/// The format of a convolution's results: channels_last where the input or the weight is.
at::MemoryFormat format_of(const Tensor& input, const Tensor& weight) {
  if (!at::native::mkldnn_conv_use_channels_last(input, weight)) {
    return at::MemoryFormat::Contiguous;
  }
  return expected_format(input.dim() == 5 ? at::MemoryFormat::ChannelsLast3d
                                          : at::MemoryFormat::ChannelsLast);
}

/// Runs `device`; on a Refusal `host`, with the reason.
template <typename Device, typename Host>
auto run_or_hand_over(Device&& device, Host&& host) {
  std::string reason;
  try {
    return device();
  } catch (const Refusal& refusal) {
    reason = refusal.reason;
  } catch (const KernelError& error) {
    reason = error.what();
  } catch (const SimulatorBug& bug) {
    throw_torch_error(bug);
  } catch (const std::bad_alloc&) {
    throw_host_out_of_memory("a convolution");
  }
  return host(reason);
}

ConvolutionParameters parameters_of(IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation,
                                    bool transposed, IntArrayRef output_padding, int64_t groups) {
  return {at::DimVector(stride),         at::DimVector(padding),
          at::DimVector(dilation),       transposed,
          at::DimVector(output_padding), groups};
}

/// As in torch: zeros that no product reaches are not added.
void check_output_padding(const ConvolutionParameters& parameters) {
  if (!parameters.transposed) return;
  for (size_t axis = 0; axis < parameters.output_padding.size(); ++axis) {
    const int64_t added = parameters.output_padding[axis];
    TORCH_CHECK(added < parameters.stride[axis] || added < parameters.dilation[axis],
                "output padding must be smaller than either stride or dilation, but got "
                "output_padding ",
                IntArrayRef(parameters.output_padding), " stride ", IntArrayRef(parameters.stride),
                " dilation ", IntArrayRef(parameters.dilation));
  }
}

Tensor convolution(const Tensor& input, const Tensor& weight, const OptionalTensor& bias,
                   IntArrayRef stride, IntArrayRef padding, IntArrayRef dilation, bool transposed,
                   IntArrayRef output_padding, int64_t groups) {
  const ConvolutionParameters parameters =
      parameters_of(stride, padding, dilation, transposed, output_padding, groups);
  check_output_padding(parameters);
  return run_or_hand_over(
      [&] {
        const Tensor result = device_convolution(input, weight, bias, parameters);
        return result.numel() == 0 ? result : in_format(result, format_of(input, weight));
      },
      [&](const std::string& reason) {
        return host_convolution(input, weight, bias, parameters, reason);
      });
}

ConvolutionGradients convolution_backward(const Tensor& gradient, const Tensor& input,
                                          const Tensor& weight, IntArrayRef stride,
                                          IntArrayRef padding, IntArrayRef dilation,
                                          bool transposed, IntArrayRef output_padding,
                                          int64_t groups, std::array<bool, 3> mask) {
  const ConvolutionParameters parameters =
      parameters_of(stride, padding, dilation, transposed, output_padding, groups);
  return run_or_hand_over(
      [&] {
        const at::MemoryFormat format = format_of(input, weight);
        auto [for_input, for_weight, for_bias] =
            device_convolution_backward(gradient, input, weight, parameters, mask);
        if (mask[0]) for_input = in_format(for_input, format);
        if (mask[1]) for_weight = in_format(for_weight, format);
        return ConvolutionGradients{for_input, for_weight, for_bias};
      },
      [&](const std::string& reason) {
        return host_convolution_backward(gradient, input, weight, parameters, mask, reason);
      });
}

}  // namespace

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
  m.impl("convolution_overrideable", convolution);
  m.impl("convolution_backward_overrideable", convolution_backward);
}

}  // namespace neuron_sim
