// Collectives between ranks, and the numbers of ranks, for Python.

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "device/base/errors.h"
#include "device/isa/dma/collective.h"
#include "device/isa/sequencing/rank_id.h"
#include "python_bindings/core_module/instructions/instruction_methods.h"
#include "python_bindings/core_module/instructions/names.h"

namespace nb = nanobind;

namespace neuron_sim {
namespace {

using Ranks = std::vector<std::vector<int64_t>>;

CollectiveKind collective_named(const std::string& name) {
  for (const InstructionType& type : kCollectives) {
    if (type.name == name) return kind_of(type);
  }
  fail(text("collective '", name, "' is unknown."));
}

std::shared_ptr<const ReplicaGroups> groups_of(CollectiveKind kind, Ranks ranks) {
  if (kind == CollectiveKind::kPermute) {
    return std::make_shared<const ReplicaGroups>(rings_of("collective_permute", ranks));
  }
  return std::make_shared<const ReplicaGroups>(ReplicaGroups{std::move(ranks)});
}

void collective(Builder& self, const std::string& name, const View& dst, const View& src,
                Ranks ranks, const std::optional<View>& other, const std::optional<View>& metadata,
                const std::string& op, int64_t dimension, int64_t channel, bool follows,
                bool writes_counts, const std::string& engine) {
  Collective instruction;
  instruction.kind = collective_named(name);
  instruction.dst = dst;
  instruction.src = src;
  instruction.groups = groups_of(instruction.kind, std::move(ranks));
  if (other) instruction.other = *other;
  if (metadata) instruction.metadata = *metadata;
  if (!op.empty()) value_named(op, instruction.op);
  instruction.dimension = dimension;
  instruction.channel = channel;
  instruction.follows = follows;
  instruction.writes_counts = writes_counts;
  value_named(engine, instruction.engine);
  self.emit(instruction);
}

int processing_rank_id(Builder& self, Ranks ranks, int64_t iteration, int64_t channel,
                       const std::string& engine) {
  const int result = self.allocate_register();
  ProcessingRankId instruction{
      result, groups_of(CollectiveKind::kPermuteImplicit, std::move(ranks)), iteration, channel};
  value_named(engine, instruction.engine);
  self.emit(instruction);
  return result;
}

}  // namespace

void bind_collectives(nb::class_<Builder>& builder) {
  builder
      .def("collective", &collective, nb::arg("name"), nb::arg("dst"), nb::arg("src"),
           nb::arg("ranks"), nb::arg("other") = nb::none(), nb::arg("metadata") = nb::none(),
           nb::arg("op") = "", nb::arg("dimension") = 0, nb::arg("channel") = 0,
           nb::arg("follows") = false, nb::arg("writes_counts") = false, nb::arg("engine") = "auto",
           "One tensor of nki.collectives.`name` over replica groups (of collective_permute: its "
           "source-target pairs). follows: a further tensor of the same call.")
      .def("processing_rank_id", &processing_rank_id, nb::arg("ranks"), nb::arg("iteration"),
           nb::arg("channel") = 0, nb::arg("engine") = "auto",
           "A fresh register that holds whose data a ring of permutes has brought.");
}

}  // namespace neuron_sim
