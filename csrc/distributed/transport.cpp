#include "csrc/distributed/transport.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <c10/core/ScalarType.h>
#include <c10/util/Exception.h>

#include "csrc/launch/tensor_access.h"

namespace neuron_sim {
namespace {

std::string dtype_name(at::ScalarType dtype) {
  return std::string(c10::getDtypeNames(dtype).first);
}

bool bitwise(const c10d::ReduceOp& operation) {
  return operation.op_ == c10d::ReduceOp::BAND || operation.op_ == c10d::ReduceOp::BOR ||
         operation.op_ == c10d::ReduceOp::BXOR;
}

bool is_scaled_sum(const c10d::ReduceOp& operation) {
  return operation.op_ == c10d::ReduceOp::PREMUL_SUM;
}

/// Multiplies by the factor of a PREMUL_SUM: a number, or a tensor of one element.
void scale(const at::Tensor& tensor, const c10d::ReduceOp& operation) {
  const auto& given = static_cast<const c10d::PreMulSumSupplement&>(*operation.supplement_);
  if (given.tensor_factor.defined()) {
    tensor.mul_(host_tensor(given.tensor_factor, /*only_read=*/true).reshape({}));
  } else {
    tensor.mul_(given.double_factor);
  }
}

}  // namespace

std::string reduction_name(const c10d::ReduceOp& operation) {
  switch (operation.op_) {
    case c10d::ReduceOp::SUM: return "SUM";
    case c10d::ReduceOp::AVG: return "AVG";
    case c10d::ReduceOp::PRODUCT: return "PRODUCT";
    case c10d::ReduceOp::MIN: return "MIN";
    case c10d::ReduceOp::MAX: return "MAX";
    case c10d::ReduceOp::BAND: return "BAND";
    case c10d::ReduceOp::BOR: return "BOR";
    case c10d::ReduceOp::BXOR: return "BXOR";
    case c10d::ReduceOp::PREMUL_SUM: return "PREMUL_SUM";
    default: return "UNKNOWN";
  }
}

void check_reduction(const c10d::ReduceOp& operation, at::ScalarType dtype) {
  const std::string name = reduction_name(operation);
  TORCH_CHECK_NOT_IMPLEMENTED(name != "UNKNOWN", "the reduction ", static_cast<int>(operation.op_),
                              " does not exist here; there are SUM, AVG, PRODUCT, MIN, MAX, BAND, "
                              "BOR, BXOR and PREMUL_SUM.");
  TORCH_CHECK_TYPE(!at::isFloat8Type(dtype) && dtype != at::kFloat4_e2m1fn_x2, name,
                   " is not defined for ", dtype_name(dtype),
                   "; reduce a wider type and round once.");
  const bool whole = at::isIntegralType(dtype, /*includeBool=*/true);
  TORCH_CHECK_TYPE(whole || !bitwise(operation), name, " takes integers and bool, not ",
                   dtype_name(dtype), ".");
  const bool scales = operation.op_ == c10d::ReduceOp::AVG || is_scaled_sum(operation);
  TORCH_CHECK_TYPE(!whole || !scales, name, " takes floating-point and complex numbers, not ",
                   dtype_name(dtype), ".");
  TORCH_CHECK_TYPE(!at::isComplexType(dtype) || operation.op_ == c10d::ReduceOp::SUM || scales,
                   name, " is not defined for ", dtype_name(dtype),
                   "; SUM, AVG and PREMUL_SUM are.");
}

void finish(const c10::intrusive_ptr<c10d::Work>& work) {
  if (work) work->wait();
}

at::Tensor bytes_of(const at::Tensor& tensor) {
  return tensor.contiguous().view(-1).view(at::kByte);
}

void broadcast(c10d::Backend& transport, const at::Tensor& tensor, int64_t root) {
  if (tensor.numel() == 0) return;
  Tensors bytes = {bytes_of(tensor)};
  c10d::BroadcastOptions options;
  options.rootRank = root;
  finish(transport.broadcast(bytes, options));
  if (!tensor.is_contiguous()) tensor.copy_(bytes[0].view(tensor.scalar_type()).view_as(tensor));
}

at::Tensor reduced(c10d::Backend& transport, const at::Tensor& tensor,
                   const c10d::ReduceOp& operation) {
  const at::ScalarType dtype = tensor.scalar_type();
  const bool average = operation.op_ == c10d::ReduceOp::AVG;
  // The transport has no int16; int32 holds what int16 computes, modulo 2^16.
  Tensors sums = {tensor.to(dtype == at::kShort ? at::kInt : dtype, /*non_blocking=*/false,
                            /*copy=*/true, at::MemoryFormat::Contiguous)};
  c10d::AllreduceOptions options;
  const bool sums_up = average || is_scaled_sum(operation);
  options.reduceOp = sums_up ? c10d::ReduceOp(c10d::ReduceOp::SUM) : operation;
  if (is_scaled_sum(operation)) scale(sums[0], operation);
  if (tensor.numel() > 0) finish(transport.allreduce(sums, options));
  if (average) sums[0].div_(transport.getSize());
  return sums[0].to(dtype);
}

void exchange(c10d::Backend& transport, const Tensors& inputs, const Tensors& outputs) {
  std::vector<int64_t> sent, received;
  Tensors parts;
  for (const at::Tensor& input : inputs) {
    parts.push_back(bytes_of(input));
    sent.push_back(parts.back().numel());
  }
  int64_t total = 0;
  for (const at::Tensor& output : outputs) {
    received.push_back(output.numel() * static_cast<int64_t>(output.element_size()));
    total += received.back();
  }
  at::Tensor from = at::cat(parts), to = at::empty({total}, at::kByte);
  // The transport keeps the lists of sizes, so it gets its own.
  std::vector<int64_t> received_sizes = received;
  finish(transport.alltoall_base(to, from, received_sizes, sent));
  int64_t offset = 0;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const at::Tensor bytes = to.narrow(0, offset, received[i]);
    offset += received[i];
    if (received[i] == 0) continue;
    // Copied, because a view as wider elements needs an offset of whole elements.
    outputs[i].copy_(bytes.clone().view(outputs[i].scalar_type()).view(outputs[i].sizes()));
  }
}

}  // namespace neuron_sim
