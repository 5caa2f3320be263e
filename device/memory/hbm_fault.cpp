#include "device/memory/hbm_fault.h"

#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

// Data of the signal handler; written once, before the handler is installed.
uintptr_t lower_first = 0;
uintptr_t lower_bytes = 0;
uintptr_t bytes_per_device = 0;
struct sigaction previous_action;

/// Appends `value` in `base` (10 or 16) and returns the new end. No allocation: signal context.
char* append_number(char* out, uintptr_t value, unsigned base) {
  char digits[20];
  int count = 0;
  do {
    digits[count++] = "0123456789abcdef"[value % base];
    value /= base;
  } while (value != 0);
  while (count > 0) *out++ = digits[--count];
  return out;
}

char* append_text(char* out, const char* part) { return std::copy_n(part, std::strlen(part), out); }

void write_sentence(uintptr_t address) {
  char sentence[320];
  char* end = append_text(sentence, "neuron_sim: host code accessed device pointer 0x");
  end = append_number(end, address, 16);
  end = append_text(end, " of device ");
  end = append_number(end, (address - lower_first) / bytes_per_device, 10);
  end = append_text(end, "; the host cannot address HBM, copy the tensor first, e.g. .cpu().\n");
  const ssize_t written = write(STDERR_FILENO, sentence, static_cast<size_t>(end - sentence));
  static_cast<void>(written);  // nothing can be done about it here
}

void on_fault(int signal, siginfo_t* information, void* context) {
  const bool from_kernel = information->si_code > 0;  // else si_addr means nothing
  const auto address = reinterpret_cast<uintptr_t>(information->si_addr);
  if (from_kernel && address >= lower_first && address - lower_first < lower_bytes) {
    write_sentence(address);
  }
  if ((previous_action.sa_flags & SA_SIGINFO) != 0) {
    previous_action.sa_sigaction(signal, information, context);
  } else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN) {
    previous_action.sa_handler(signal);
  } else {
    // The faulting instruction runs again and meets the default action.
    sigaction(SIGSEGV, &previous_action, nullptr);
    if (!from_kernel) raise(signal);
  }
}

}  // namespace

void explain_faults_in(const Hbm& hbm) {
  require(lower_first == 0, "the fault handler is installed once per process");
  lower_first = reinterpret_cast<uintptr_t>(hbm.lower());
  lower_bytes = static_cast<uintptr_t>(hbm.lower_size().count);
  bytes_per_device = static_cast<uintptr_t>(hbm.capacity().count);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  // ONSTACK: faulthandler's alternative stack, if any. NODEFER: a chained handler may raise again.
  action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_NODEFER;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &previous_action);
}

}  // namespace neuron_sim
