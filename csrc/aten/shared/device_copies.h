#pragma once
// Moves of device tensors, for the operators built from them.

#include <ATen/core/Tensor.h>
#include <c10/util/FunctionRef.h>

#include <vector>

namespace neuron_sim {

/// Whether the device itself copies `source` to `target`: both on one device, of dtypes that it
/// has, or of identical bits.
bool copies_on_device(const at::Tensor& source, const at::Tensor& target);
/// target = source (broadcast to it), with a cast as torch's. Only when copies_on_device().
void copy_on_device(const at::Tensor& source, const at::Tensor& target);

/// `operand`, or a copy of it with the strides of `like`, of the same sizes, when adjacent elements
/// of `like` are apart in a large operand: a kernel over both would load every element by a
/// separate descriptor, where the copy transposes on chip.
at::Tensor with_neighbours_of(const at::Tensor& operand, const at::Tensor& like);

/// 0, 1, ... of int32, int64 or float32, counted on the host and copied to the device.
at::Tensor counted_places(int64_t count, at::ScalarType dtype, at::Device device);
/// The elements of `self` into the dense `result`, whose place i along dimension d is place
/// along(d)[i] of `self`: one gather of elements by numbers from the host.
void gather_selected(const at::Tensor& self,
                     c10::function_ref<std::vector<int64_t>(int64_t dimension)> along,
                     const at::Tensor& result);

/// table[indices] of table [R, L], indices [N] (int64 or int32), into result [N, L]. The caller has
/// checked that they are in [0, R) (index_bounds.h): the kernel reads 32 bits of each. Refusal for
/// 2^31 rows or more.
void gather_rows(const at::Tensor& table, const at::Tensor& indices, const at::Tensor& result);
/// result[i] = element indices[i] of the dense `self` in row-major order; any strides of the
/// result.
void gather_elements(const at::Tensor& self, const at::Tensor& indices, const at::Tensor& result);
/// table[indices] = source, or += with `add`.
void scatter_rows(const at::Tensor& table, const at::Tensor& indices, const at::Tensor& source,
                  bool add);

}  // namespace neuron_sim
