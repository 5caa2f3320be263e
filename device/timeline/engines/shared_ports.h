#pragma once
// Memory ports that two engines share: their elementwise instructions take turns.

#include <array>

#include "device/arch/architecture.h"
#include "device/instruction/demand.h"
#include "device/operand/engine.h"
#include "device/timeline/engines/dma_engines.h"

namespace neuron_sim {

/// Which memories an elementwise instruction reads or writes.
struct MemoryAccess {
  bool sbuf = false;
  bool psum = false;
};

/// The ports of SBUF and PSUM that two engines share. On generation 2 Vector and GpSimd cannot
/// access SBUF at the same time, nor Vector and Scalar PSUM; on later ones Vector takes GpSimd's
/// port only in its fast modes (documented: features.shared_*, fast_mode_ports). The second engine
/// waits until the first is done; an instruction that has begun continues in the gaps of the other
/// engine's. That the hardware switches a port without loss is assumed.
class SharedPorts {
 public:
  explicit SharedPorts(const Architecture& architecture) : features_(architecture.features) {}

  /// When an instruction that would hold its engine in `span` does so.
  Span grant(EngineKind engine, const Step& step, const MemoryAccess& access, Span span);
  void visit(StateVisitor& visitor);

 private:
  bool takes_sbuf_port(EngineKind engine, const Step& step) const;

  const Features& features_;
  BusyCalendar sbuf_, psum_;
};

}  // namespace neuron_sim
