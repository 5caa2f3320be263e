// Methods of tensors that give them another shape, see device/tracing/view_shapes.h.

#include "device/base/errors.h"
#include "device/tracing/view_shapes.h"
#include "python_bindings/core_module/tracing/integers.h"
#include "python_bindings/core_module/tracing/objects.h"

namespace nb = nanobind;

namespace neuron_sim::tracing {
namespace {

/// The tensor whose view is make(view of this one), after the checks of what was indexed before.
template <class Make>
nb::object with_shape(PyObject* self, Make make) {
  TensorView made = with_name_of(self, [&] { return make(view_of(self)); });
  refuse_dynamic(self);
  run_checks(self);
  made.checks.clear();
  return tensor_of(self, made);
}

}  // namespace

nb::object tensor_reshaped(PyObject* self, PyObject* sizes) {
  return with_shape(self, [&](const TensorView& view) { return reshaped(view, sizes_of(sizes)); });
}

nb::object tensor_broadcast_to(PyObject* self, PyObject* sizes) {
  return with_shape(self,
                    [&](const TensorView& view) { return broadcast_to(view, sizes_of(sizes)); });
}

nb::object tensor_with_new_axes(PyObject* self, PyObject* axes) {
  const Sizes places = sizes_of(axes);
  return with_shape(self, [&](const TensorView& view) { return with_new_axes(view, places); });
}

nb::object tensor_without_axis(PyObject* self, PyObject* axis) {
  const int64_t d = integer_of(axis);
  return with_shape(self, [&](const TensorView& view) {
    const bool is_one = d >= 0 && d < static_cast<int64_t>(view.shape.size()) &&
                        view.shape[static_cast<size_t>(d)] == 1;
    if (!is_one) fail(text("dimension ", d, " of `", kTensorName, "` does not have size 1."));
    return without_axis(view, static_cast<size_t>(d));
  });
}

nb::object tensor_permuted(PyObject* self, PyObject* order) {
  const Sizes dimensions = sizes_of(order);
  return with_shape(self, [&](const TensorView& view) {
    const bool has_index = !is_absent(as_tensor(self)->index);
    return permuted(view, dimensions, has_index ? 0 : view.axis);
  });
}

nb::object tensor_reinterpreted(PyObject* self, PyObject* dtype) {
  const int64_t old_bytes = itemsize_of(dtype_of(self)), new_bytes = itemsize_of(dtype);
  const bool has_index = !is_absent(as_tensor(self)->index);
  int64_t stride = as_tensor(self)->index_stride;
  const nb::object made = with_shape(self, [&](TensorView view) {
    if (has_index) view.steps[0] = stride;  // which counts elements, too
    view = reinterpreted(view, old_bytes, new_bytes);
    if (has_index) stride = view.steps[0];
    return view;
  });
  set_field(as_tensor(made.ptr())->dtype, dtype);
  as_tensor(made.ptr())->index_stride = stride;
  return made;
}

nb::object tensor_is_contiguous(PyObject* self, PyObject*) {
  return nb::bool_(is_contiguous(view_of(self)));
}

}  // namespace neuron_sim::tracing
