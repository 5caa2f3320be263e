#include "device/instruction/tile_limits.h"

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

std::string parameter(std::string_view operand, const View& view) {
  std::string result = text(operand, "[");
  for (int i = 0; i < view.rank(); ++i) result += text(i == 0 ? "" : ", ", view.size(i));
  return result + "]";
}

}  // namespace

void check_tile_size(std::string_view instruction, std::string_view operand, const View& view,
                     int64_t partition_limit, int64_t free_limit,
                     const Architecture& architecture) {
  if (view.partitions() >= 1 && view.partitions() <= partition_limit && view.free_elements() >= 1 &&
      view.free_elements() <= free_limit) {
    return;  // before any text is made
  }
  const std::string subject = text("'", parameter(operand, view), "' of '", instruction, "'");
  const std::string where = text(" (architecture ", architecture.name, ")");
  if (view.partitions() < 1 || view.free_elements() < 1) {
    fail(text(subject, " must have at least one element.", where));
  }
  if (view.partitions() > partition_limit) {
    fail(text("size of dimension 0 in ", subject, " exceed architecture limitation of ",
              partition_limit, ".", where));
  }
  const std::string what = view.rank() == 2
                               ? std::string("size of dimension 1")
                               : text("number of elements per partition ", view.free_elements());
  fail(text(what, " in ", subject, " exceed architecture limitation of ", free_limit, ".", where));
}

}  // namespace neuron_sim
