// EagerRun for Python: the values of tiles while a program is built.

#include <nanobind/ndarray.h>
#include <nanobind/stl/shared_ptr.h>

#include <memory>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "device/execute/eager_run.h"
#include "python_bindings/core_module/instructions/bindings.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

using HostArray = nb::ndarray<nb::c_contig, nb::device::cpu>;

/// A run that follows a builder.
std::shared_ptr<EagerRun> follow(Builder& builder) {
  auto run = std::make_shared<EagerRun>(builder.program());
  builder.observe([run] { run->advance(); });
  return run;
}

nb::bytes contents(EagerRun& run, const View& view) {
  const int64_t count = view.ring();
  int64_t turn = count > 1 ? view.ring_index().constant() % count : 0;
  if (turn < 0) turn += count;
  const std::vector<std::byte> bytes = run.contents(view.tile() + static_cast<TileId>(turn));
  return nb::bytes(bytes.data(), bytes.size());
}

}  // namespace

void bind_eager_run(nb::module_& module) {
  nb::class_<EagerRun>(module, "EagerRun",
                       "Runs the instructions of a Builder as they are appended: one core, without "
                       "registers and loops on chip (ValueError).")
      .def(nb::new_(&follow), nb::arg("builder"))
      .def(
          "bind",
          [](EagerRun& self, size_t argument, const HostArray& array) {
            self.bind(argument, static_cast<std::byte*>(array.data()));
          },
          nb::arg("argument"), nb::arg("array"), nb::keep_alive<1, 3>(),
          "The contents of an argument, changed in place; arguments without are zero at first.")
      .def("contents", &contents, nb::arg("view"),
           "The bytes of the tile of a view, partition after partition, or of its HBM tensor.");
}

}  // namespace neuron_sim
