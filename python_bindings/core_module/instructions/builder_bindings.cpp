// Builder for Python: tensors, tiles and loops; instruction_methods.cpp has the instructions.

#include <nanobind/stl/function.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/base/errors.h"
#include "device/builder/builder.h"
#include "python_bindings/core_module/instructions/bindings.h"
#include "python_bindings/core_module/instructions/instruction_methods.h"
#include "python_bindings/core_module/instructions/names.h"
#include "python_bindings/core_module/program/build_kernel.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

using Shape = std::vector<int64_t>;
using Body = std::function<void(Affine)>;

MemoryKind on_chip_memory(const std::string& memory) {
  if (memory == "sbuf") return MemoryKind::kSbuf;
  if (memory == "psum") return MemoryKind::kPsum;
  fail(text("memory '", memory, "' is unknown; allowed: sbuf, psum."));
}

View constant(Builder& builder, const std::string& label, const Shape& shape,
              const std::string& dtype, const nb::bytes& contents) {
  const auto* data = static_cast<const std::byte*>(contents.data());
  int64_t bytes = itemsize(dtype_of_name(dtype));
  for (const int64_t size : shape) bytes *= size;
  if (bytes != static_cast<int64_t>(contents.size())) {
    fail(text("constant '", label, "' has ", contents.size(), " bytes, its shape needs ", bytes,
              "."));
  }
  return builder.constant(label, shape, dtype_of_name(dtype), {data, data + contents.size()});
}

/// The finished program. Ends the builder, which has moved it out: Python can no longer use it.
std::shared_ptr<const Program> finish(const nb::handle_t<Builder>& self, bool spills) {
  std::shared_ptr<const Program> program =
      nb::cast<Builder&>(self).finish(spills ? Overflow::kSpilled : Overflow::kRefused);
  nb::inst_destruct(self);
  return program;
}

void bind_tensors(nb::class_<Builder>& builder) {
  builder
      .def(
          "argument",
          [](Builder& self, const std::string& label, const Shape& shape, const std::string& dtype,
             const Shape& strides) {
            return self.argument(label, shape, dtype_of_name(dtype), strides);
          },
          nb::arg("label"), nb::arg("shape"), nb::arg("dtype") = "float32",
          nb::arg("strides") = Shape{},
          "The next HBM argument; strides in elements, dense if empty.")
      .def("constant", &constant, nb::arg("label"), nb::arg("shape"), nb::arg("dtype"),
           nb::arg("contents"), "An HBM tensor of the kernel's own with these bytes.")
      .def(
          "scratch",
          [](Builder& self, const std::string& label, const Shape& shape,
             const std::string& dtype) { return self.scratch(label, shape, dtype_of_name(dtype)); },
          nb::arg("label"), nb::arg("shape"), nb::arg("dtype") = "float32",
          "An HBM tensor of the kernel's own for intermediate results.")
      .def(
          "sbuf",
          [](Builder& self, const std::string& label, const Shape& shape, const std::string& dtype,
             int ring) { return self.sbuf(label, shape, dtype_of_name(dtype), ring); },
          nb::arg("label"), nb::arg("shape"), nb::arg("dtype") = "float32", nb::arg("ring") = 1,
          "A tile [partitions, free...] in SBUF, or a ring of them: tile.turn(i).")
      .def(
          "psum",
          [](Builder& self, const std::string& label, const Shape& shape, const std::string& dtype,
             int ring) { return self.psum(label, shape, dtype_of_name(dtype), ring); },
          nb::arg("label"), nb::arg("shape"), nb::arg("dtype") = "float32", nb::arg("ring") = 1,
          "The same in PSUM; every tile starts at a bank.")
      .def(
          "place",
          [](Builder& self, const std::string& memory, const std::string& label, const Shape& shape,
             const std::string& dtype, int64_t address, int start_partition, int ring) {
            return self.place(on_chip_memory(memory), label, shape, dtype_of_name(dtype), address,
                              start_partition, ring);
          },
          nb::arg("memory"), nb::arg("label"), nb::arg("shape"), nb::arg("dtype"),
          nb::arg("address"), nb::arg("start_partition") = 0, nb::arg("ring") = 1,
          "A tile at a byte address of its partitions (direct allocation).");
}

void bind_control(nb::class_<Builder>& builder) {
  builder
      .def(
          "loop",
          [](Builder& self, int64_t trip_count, const Body& body) { self.loop(trip_count, body); },
          nb::arg("trip_count"), nb::arg("body"),
          "A counted loop; body(i) is called once with its variable. A scope of its own.")
      .def(
          "scope", [](Builder& self, const std::function<void()>& body) { self.scope(body); },
          nb::arg("body"), "Tiles allocated inside are released at its end.")
      .def(
          "loop_register",
          [](Builder& self, const std::string& engine, int register_index, int64_t bound,
             const Body& body) {
            self.loop_register(named<EngineKind>(engine), register_index, bound, body);
          },
          nb::arg("engine"), nb::arg("register"), nb::arg("bound"), nb::arg("body"),
          "A loop whose trip count is in a register of the engine, at most `bound`.")
      .def(
          "core",
          [](Builder& self, int index, const std::function<void()>& body) {
            self.core(index, body);
          },
          nb::arg("index"), nb::arg("body"),
          "What body emits belongs to that core of the logical core.")
      .def("source_line", &Builder::set_source_line, nb::arg("line"),
           "Source line of the instructions that follow, for messages and traces.")
      .def("finish", &finish, nb::arg("spills") = false,
           "Ends the kernel; the builder is spent: it takes no more calls. spills: with automatic "
           "placement, tiles that do not fit are no error; the program has `overflow` then.");
}

/// Loops, scopes and cores for generators and with statements.
void bind_open_blocks(nb::class_<Builder>& builder) {
  builder
      .def("open_loop", &Builder::open_loop, nb::arg("trip_count"),
           "Opens a counted loop of at least one trip; returns its variable (of one trip: 0).")
      .def(
          "open_loop_register",
          [](Builder& self, const std::string& engine, int register_index, int64_t bound) {
            return self.open_loop_register(named<EngineKind>(engine), register_index, bound);
          },
          nb::arg("engine"), nb::arg("register"), nb::arg("bound"),
          "The same with the trip count in a register of the engine, at most `bound`.")
      .def(
          "open_range",
          [](Builder& self, int register_index, int64_t start, int64_t stop, int64_t step,
             int start_register, int stop_register) {
            self.open_range(register_index, {start, static_cast<int16_t>(start_register)},
                            {stop, static_cast<int16_t>(stop_register)}, step);
          },
          nb::arg("register"), nb::arg("start"), nb::arg("stop"), nb::arg("step") = 1,
          nb::arg("start_register") = -1, nb::arg("stop_register") = -1,
          "A loop of range(start, stop, step) that counts in a register; bounds may be registers.")
      .def("open_while", &Builder::open_while, nb::arg("register"),
           "A loop that runs while the register is not zero.")
      .def("close_loop", &Builder::close_loop,
           "Closes the innermost open block, which must be a loop.")
      .def("open_scope", &Builder::open_scope, "Tiles allocated from here on belong to the scope.")
      .def("close_scope", &Builder::close_scope, "Releases the tiles of the innermost scope.")
      .def("open_core", &Builder::open_core, nb::arg("index"),
           "What is emitted until close_core belongs to that core of the logical core.")
      .def("close_core", &Builder::close_core)
      .def(
          "bounds",
          [](const Builder& self, const Affine& index) {
            const Builder::Bounds bounds = self.bounds(index);
            return std::pair(bounds.smallest, bounds.largest);
          },
          nb::arg("index"), "Smallest and largest value over the trips of the open loops.")
      .def_prop_ro("instruction_count", &Builder::instruction_count,
                   "Instructions emitted so far: the number of the next one.")
      .def("add_edge", &Builder::add_edge, nb::arg("consumer"), nb::arg("producer"),
           "Instruction `consumer` waits until `producer` is complete.")
      .def("allocate_register", &Builder::allocate_register,
           "A fresh register of the sequencers of the core.");
}

/// Unique per Python object; the architecture outlives it.
Builder* make_builder(const std::string& kernel, const std::string& architecture,
                      const std::string& placement) {
  if (placement != "scoped" && placement != "automatic") {
    fail(text("placement '", placement, "' is unknown; allowed: scoped, automatic."));
  }
  return new Builder(kernel, load_architecture(architecture),
                     placement == "automatic" ? TilePlacement::kAutomatic : TilePlacement::kScoped);
}

}  // namespace

void bind_builder(nb::module_& module) {
  nb::class_<Builder> builder(
      module, "Builder",
      "Builds a Program: every call is checked when it is made (ValueError, with the instruction, "
      "the operand and the limit) and a failed call leaves the builder as it was.");
  builder
      .def(nb::new_(&make_builder), nb::arg("kernel"),
           nb::arg("architecture") = kDefaultArchitecture, nb::arg("placement") = "scoped",
           "placement: tiles get their addresses when they are allocated ('scoped', first fit, "
           "released with their scope) or by finish(), from their lifetimes ('automatic').")
      .def_prop_ro("architecture", [](const Builder& self) { return self.architecture().name; });
  bind_tensors(builder);
  bind_control(builder);
  bind_open_blocks(builder);
  bind_instructions(builder);
  bind_register_instructions(builder);
  bind_collectives(builder);
}

}  // namespace neuron_sim
