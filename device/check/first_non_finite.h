#pragma once
// The first instance of a run that makes NaN or infinity of finite operands.

#include <optional>

#include "device/check/finding.h"
#include "device/execute/run_observer.h"

namespace neuron_sim {

/// Looks on until it has found one. What comes out of memory (copies of a caller's NaN), fills with
/// a constant and operands of other dtypes than floats count as they are: a result counts when
/// every float operand that the instance read was finite, and it read one.
class FirstNonFinite : public RunObserver {
 public:
  explicit FirstNonFinite(const Program& program);

  void starts(const ObservedInstance& instance) override { instance_ = instance; }
  void before(std::span<const Access> operands) override;
  void after(const ObservedInstance& instance, std::span<const Access> operands,
             const InstanceFacts& facts) override;

  std::optional<Finding> found;

 private:
  const Program& program_;
  std::vector<size_t> depths_;
  ObservedInstance instance_;
  bool finite_ = false;  // the operands of the current instance
};

}  // namespace neuron_sim
