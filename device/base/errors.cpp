#include "device/base/errors.h"

#include <charconv>

namespace neuron_sim {

KernelError::KernelError(const std::string& sentence, ErrorKind kind)
    : std::runtime_error(sentence), kind_(kind) {}
KernelError::~KernelError() = default;

SimulatorBug::SimulatorBug(const std::string& sentence) : std::logic_error(sentence) {}
SimulatorBug::~SimulatorBug() = default;

void fail(const std::string& sentence, ErrorKind kind) { throw KernelError(sentence, kind); }

namespace detail {

void throw_bug(std::string_view what) { throw SimulatorBug(text("neuron_sim bug: ", what)); }

void append(std::string& out, std::string_view part) { out += part; }

template <typename Number>
static void append_number(std::string& out, Number part) {
  char digits[32];
  const auto end = std::to_chars(digits, digits + sizeof digits, part).ptr;
  out.append(digits, end);
}

void append(std::string& out, long long part) { append_number(out, part); }
void append(std::string& out, unsigned long long part) { append_number(out, part); }
void append(std::string& out, double part) { append_number(out, part); }

}  // namespace detail
}  // namespace neuron_sim
