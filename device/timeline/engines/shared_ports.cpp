#include "device/timeline/engines/shared_ports.h"

namespace neuron_sim {
namespace {

bool is_fast(RateClass rate) {
  return kRateRows[static_cast<size_t>(rate)].mode == RateMode::kFast;
}

Span take(BusyCalendar& port, Span span) {
  const Span granted = port.reserve(span.start, span.end - span.start);
  span.done += granted.end - span.end;
  return {granted.start, granted.end, span.done};
}

}  // namespace

bool SharedPorts::takes_sbuf_port(EngineKind engine, const Step& step) const {
  const bool shared = features_.shared_sbuf_port;
  if (engine == EngineKind::kGpSimd) return shared || features_.fast_mode_ports;
  if (engine != EngineKind::kVector) return false;
  return shared || (features_.fast_mode_ports && is_fast(step.rate));
}

Span SharedPorts::grant(EngineKind engine, const Step& step, const MemoryAccess& access,
                        Span span) {
  if (access.sbuf && takes_sbuf_port(engine, step)) span = take(sbuf_, span);
  const bool psum_user = engine == EngineKind::kVector || engine == EngineKind::kScalar;
  if (access.psum && psum_user && features_.shared_psum_port) span = take(psum_, span);
  return span;
}

void SharedPorts::visit(StateVisitor& visitor) {
  sbuf_.visit(visitor);
  psum_.visit(visitor);
}

}  // namespace neuron_sim
