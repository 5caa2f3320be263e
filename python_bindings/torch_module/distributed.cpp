#include "python_bindings/torch_module/distributed.h"

#include <pybind11/stl.h>

#include "csrc/distributed/account.h"
#include "csrc/distributed/backend.h"

namespace py = pybind11;

namespace neuron_sim {
namespace {

py::dict facts(const CollectiveRecord& record) {
  py::dict facts;
  facts["call"] = record.call;
  facts["device"] = record.device;
  facts["ranks"] = record.ranks;
  facts["bytes"] = record.bytes.count;
  facts["algorithm"] = record.algorithm;
  facts["ready_us"] = record.ready.microseconds();
  facts["start_us"] = record.start.microseconds();
  facts["end_us"] = record.end.microseconds();
  return facts;
}

}  // namespace

void bind_distributed(py::module_& m) {
  m.def(
      "make_distributed_backend",
      [](const c10::intrusive_ptr<c10d::Backend>& transport) -> c10::intrusive_ptr<c10d::Backend> {
        return c10::make_intrusive<DistributedBackend>(transport);
      });
  m.def("start_collective_recording", &start_collective_recording);
  m.def("finish_collective_recording", [](int64_t recording) {
    py::list collectives;
    for (const CollectiveRecord& record : finish_collective_recording(recording)) {
      collectives.append(facts(record));
    }
    return collectives;
  });
}

}  // namespace neuron_sim
