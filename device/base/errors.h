#pragma once
// The two kinds of failure: the user's (KernelError) and ours (SimulatorBug).

#include <stdexcept>
#include <string>
#include <string_view>

namespace neuron_sim {

/// Which Python exception a KernelError becomes at the language border.
enum class ErrorKind {
  kValue,           ///< wrong value, shape or property: ValueError
  kType,            ///< wrong dtype or type: TypeError
  kIndex,           ///< out of bounds at run time: IndexError
  kOutOfMemory,     ///< HBM, SBUF or PSUM exhausted: torch.OutOfMemoryError / MemoryError
  kNotImplemented,  ///< the architecture or this version lacks it: NotImplementedError
  kRuntime          ///< wrong state of the device: RuntimeError
};

/// The user's program asks for something the chip does not do.
class KernelError : public std::runtime_error {
 public:
  explicit KernelError(const std::string& sentence, ErrorKind kind = ErrorKind::kValue);
  ~KernelError() override;
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

/// An invariant of the simulator does not hold; never the user's fault.
class SimulatorBug : public std::logic_error {
 public:
  explicit SimulatorBug(const std::string& sentence);
  ~SimulatorBug() override;
};

/// Throws KernelError(sentence, kind). Out of line, so that callers stay small.
[[noreturn]] void fail(const std::string& sentence, ErrorKind kind = ErrorKind::kValue);

namespace detail {
[[noreturn]] void throw_bug(std::string_view what);
}  // namespace detail

/// Throws SimulatorBug when `condition` is false.
inline void require(bool condition, std::string_view what) {
  if (!condition) detail::throw_bug(what);
}

/// Concatenates strings and numbers: `text("number of partitions ", 256, " exceed ...")`.
template <typename... Parts>
std::string text(const Parts&... parts);

namespace detail {
void append(std::string& out, std::string_view part);
void append(std::string& out, long long part);
void append(std::string& out, unsigned long long part);
void append(std::string& out, double part);
inline void append(std::string& out, int part) { append(out, static_cast<long long>(part)); }
inline void append(std::string& out, long part) { append(out, static_cast<long long>(part)); }
inline void append(std::string& out, unsigned part) {
  append(out, static_cast<unsigned long long>(part));
}
inline void append(std::string& out, unsigned long part) {
  append(out, static_cast<unsigned long long>(part));
}
}  // namespace detail

template <typename... Parts>
std::string text(const Parts&... parts) {
  std::string out;
  (detail::append(out, parts), ...);
  return out;
}

}  // namespace neuron_sim
