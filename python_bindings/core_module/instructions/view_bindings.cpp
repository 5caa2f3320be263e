// Affine and View for Python: access patterns are written as NumPy indices.

#include <nanobind/operators.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/base/errors.h"
#include "device/operand/view.h"
#include "python_bindings/core_module/instructions/bindings.h"
#include "python_bindings/core_module/program/build_kernel.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

Affine affine_of(const nb::handle& value) {
  if (nb::isinstance<Affine>(value)) return nb::cast<Affine>(value);
  int64_t number = 0;
  if (!nb::try_cast(value, number)) {
    fail(text("an index is ", nb::repr(value).c_str(), ", not an int or a loop variable."),
         ErrorKind::kType);
  }
  return number;
}

int64_t constant_of(const Affine& affine, const char* what) {
  if (!affine.is_constant()) fail(text(what, " depends on a loop variable; it must be constant."));
  return affine.constant();
}

/// start:stop:step of one dimension. The extent stop - start must not depend on loop variables.
View sliced(const View& view, int dimension, const nb::handle& item) {
  const nb::object start_object = item.attr("start"), stop_object = item.attr("stop");
  const nb::object step_object = item.attr("step");
  const Affine start = start_object.is_none() ? Affine(0) : affine_of(start_object);
  const Affine stop = stop_object.is_none() ? Affine(view.size(dimension)) : affine_of(stop_object);
  const int64_t step =
      step_object.is_none() ? 1 : constant_of(affine_of(step_object), "the step of a slice");
  if (step < 1) fail(text("the step of a slice is ", step, "; it must be at least 1."));
  const int64_t extent = constant_of(stop - start, "the size of a slice");
  return view.slice(dimension, start, (extent + step - 1) / step, step);
}

View indexed(const View& view, const nb::object& index) {
  const nb::tuple items =
      nb::isinstance<nb::tuple>(index) ? nb::borrow<nb::tuple>(index) : nb::make_tuple(index);
  if (items.size() > static_cast<size_t>(view.rank())) {
    fail(text("too many indices: ", items.size(), " for ", view.describe(), "."),
         ErrorKind::kIndex);
  }
  View result = view;
  int dimension = 0;
  for (const nb::handle item : items) {
    if (nb::isinstance<nb::slice>(item)) {
      result = sliced(result, dimension++, item);
    } else if (dimension == 0 && view.memory() != MemoryKind::kHbm) {
      result = result.slice(dimension++, affine_of(item), 1);  // partitions stay a dimension
    } else {
      result = result.select(dimension, affine_of(item));
    }
  }
  return result;
}

std::vector<int64_t> coefficients(const Affine& self) {
  std::vector<int64_t> result(static_cast<size_t>(self.levels()));
  for (size_t level = 0; level < result.size(); ++level) {
    result[level] = self.coefficient(static_cast<int>(level));
  }
  return result;
}

bool equals(const Affine& self, const nb::handle& other) {
  int64_t number = 0;
  if (nb::isinstance<Affine>(other)) return self == nb::cast<Affine>(other);
  return nb::try_cast(other, number) && self == Affine(number);
}

/// The int's hash when constant, as equality requires.
Py_hash_t hashed(const Affine& self) {
  if (self.is_constant()) return nb::hash(nb::int_(self.constant()));
  return nb::hash(nb::make_tuple(self.constant(), nb::tuple(nb::cast(coefficients(self)))));
}

std::string written(const Affine& self) {
  std::string result;
  for (int level = 0; level < self.levels(); ++level) {
    const int64_t factor = self.coefficient(level);
    if (factor != 0) result += text(factor, " * loop", level, " + ");
  }
  return result + text(self.constant());
}

void bind_affine(nb::module_& module) {
  nb::class_<Affine>(module, "Affine", "An int plus multiples of loop variables.")
      .def(nb::init_implicit<int64_t>())
      .def(nb::self + nb::self)
      .def(nb::self - nb::self)
      .def("__add__", [](const Affine& self, int64_t other) { return self + other; })
      .def("__radd__", [](const Affine& self, int64_t other) { return self + other; })
      .def("__sub__", [](const Affine& self, int64_t other) { return self - other; })
      .def("__rsub__", [](const Affine& self, int64_t other) { return self * -1 + other; })
      .def("__mul__", [](const Affine& self, int64_t factor) { return self * factor; })
      .def("__rmul__", [](const Affine& self, int64_t factor) { return self * factor; })
      .def("__neg__", [](const Affine& self) { return self * -1; })
      .def("__eq__", &equals, nb::arg("other").none())
      .def("__hash__", &hashed)
      .def_prop_ro("is_constant", &Affine::is_constant)
      .def_prop_ro("constant", &Affine::constant, "The value for loop variables of 0.")
      .def_prop_ro("coefficients", &coefficients, "Of the loop variables, outermost loop first.")
      .def("__int__", [](const Affine& self) { return constant_of(self, "an index"); })
      .def("__repr__", &written);
}

/// [[step, size], ...], steps in elements.
View pattern(const View& self, const std::vector<std::pair<int64_t, int64_t>>& dimensions,
             const nb::handle& offset, const nb::handle& partition) {
  std::vector<Dimension> steps;
  steps.reserve(dimensions.size());
  for (const auto& [step, size] : dimensions) steps.push_back({size, step});
  return self.pattern(steps, affine_of(offset), affine_of(partition));
}

}  // namespace

void bind_views(nb::module_& module) {
  bind_affine(module);
  nb::class_<View>(
      module, "View",
      "An access pattern [partitions, free...] on a tile or an HBM tensor. All methods "
      "return a new View; ValueError when they leave the tile.")
      .def("__getitem__", &indexed, nb::arg("index"))
      .def_prop_ro("shape", &View::shape)
      .def_prop_ro("dtype", [](const View& self) { return std::string(name(self.dtype())); })
      .def_prop_ro("memory", [](const View& self) { return std::string(name(self.memory())); })
      .def_prop_ro("label", &View::label)
      .def("broadcast", &View::broadcast, nb::arg("dimension"), nb::arg("size"),
           "A dimension of size 1 repeated `size` times.")
      .def("split", &View::split, nb::arg("dimension"), nb::arg("outer"), nb::arg("inner"))
      .def("merge", &View::merge, nb::arg("first"), "Merges dimensions first and first + 1.")
      .def("expand", &View::expand, nb::arg("dimension"))
      .def("permute", &View::permute, nb::arg("order"))
      .def("flatten", &View::flatten)
      .def(
          "reinterpret",
          [](const View& self, const std::string& dtype) {
            return self.reinterpret(dtype_of_name(dtype));
          },
          nb::arg("dtype"),
          "The same bytes as another dtype; the last dimension scales with the element size.")
      .def("at_register", &View::at_register, nb::arg("register"), nb::arg("scale"),
           "Adds register * scale bytes to the address at run time.")
      .def("pattern", &pattern, nb::arg("dimensions"), nb::arg("offset") = 0,
           nb::arg("partition") = 0,
           "The pattern [[step, size], ...] on the whole tile or tensor, in elements of the view's "
           "dtype. On chip the first entry counts partitions (step 1 or 0) from `partition`.")
      .def_prop_ro("strides", &View::element_strides,
                   "In elements; of the partition dimension 1, or 0 for a broadcast.")
      .def_prop_ro("offset", &View::element_offset,
                   "First element in the storage, on chip within its partitions.")
      .def_prop_ro("partition", &View::partition, "First partition in the tile (0 in HBM).")
      .def_prop_ro("storage_elements", &View::storage_elements, "On chip per partition.")
      .def_prop_ro("storage_partitions", &View::storage_partitions, "1 in HBM.")
      .def("turn", &View::turn, nb::arg("index"),
           nb::sig("def turn(self, index: Affine | int) -> View"),
           "Tile `index` (modulo) of a ring of tiles.")
      .def("indirect", nb::overload_cast<int64_t>(&View::indirect, nb::const_), nb::arg("rows"))
      .def("indirect", nb::overload_cast<int64_t, int64_t>(&View::indirect, nb::const_),
           nb::arg("rows"), nb::arg("partitions"),
           "Row p is row index[p] of `rows` rows, for `partitions` p.")
      .def("__repr__", &View::describe);
}

}  // namespace neuron_sim
