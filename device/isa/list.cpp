#include "device/isa/list.h"

#include <array>

#include "device/isa/sequencing/compile_time_query.h"
#include "device/isa/sequencing/get_nc_sub_version.h"
#include "device/isa/sequencing/get_nc_version.h"

namespace neuron_sim {
namespace {

constexpr std::array kList =
    std::apply([](auto... each) { return std::array{each.type...}; }, kInstructions);
constexpr std::array kQueries = {
    CompileTimeQuery{"get_nc_sub_version", get_nc_sub_version},
    CompileTimeQuery{"get_nc_version", get_nc_version},
};

}  // namespace

std::span<const InstructionType* const> instruction_list() { return kList; }
std::span<const CompileTimeQuery> compile_time_queries() { return kQueries; }

}  // namespace neuron_sim
