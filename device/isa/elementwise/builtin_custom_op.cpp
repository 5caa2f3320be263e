#include "device/isa/elementwise/builtin_custom_op.h"

#include <algorithm>
#include <cmath>

#include "device/base/errors.h"
#include "device/instruction/checks.h"

namespace neuron_sim {
namespace {

constexpr std::string_view kName = "builtin_custom_op";
constexpr int kEach = kMaximumCustomOperands;
using enum BuiltinCustomOp::AttributeIndex;
constexpr auto kOperands = operand_table<BuiltinCustomOp>();
constexpr auto kAttributes = attribute_table<BuiltinCustomOp>();

EngineKind choose_engine(const Draft&, const Architecture&) { return EngineKind::kGpSimd; }

/// `function 'scale' of library 'libmine.so'`
std::string called(const Draft& draft) {
  return text("function '", text_of_number(draft.attribute(kFunctionName).integer()),
              "' of library '", text_of_number(draft.attribute(kLibFileName).integer()), "'");
}

const CustomFunction& function_of(std::span<const Attribute> attributes) {
  const CustomFunction* function =
      find_custom_function(text_of_number(attributes[kFunctionName].integer()));
  require(function != nullptr, "a checked builtin_custom_op calls a registered function");
  return *function;
}

/// Operands first .. first + 7 that are there.
std::vector<View> present(const Draft& draft, int first) {
  std::vector<View> result;
  for (int i = first; i < first + kEach; ++i) {
    if (draft.operand(i).present()) result.push_back(draft.operand(i));
  }
  return result;
}

std::vector<Dtype> dtypes(const std::vector<View>& views) {
  std::vector<Dtype> result;
  result.reserve(views.size());
  for (const View& view : views) result.push_back(view.dtype());
  return result;
}

std::string list(const std::vector<Dtype>& dtypes) {
  std::string result;
  for (const Dtype dtype : dtypes) result += text(result.empty() ? "" : ", ", name(dtype));
  return text("(", result, ")");
}

void check_count(const Draft& draft, const char* what, size_t given, int wanted) {
  if (static_cast<int>(given) == wanted) return;
  fail(text(called(draft), " takes ", wanted, " ", what, ", but 'builtin_custom_op' got ",
            static_cast<int64_t>(given), "."));
}

void check(const Draft& draft, const Architecture& architecture) {
  checks::engine(kName, draft.engine, {EngineKind::kGpSimd}, architecture);
  const CustomFunction* function =
      find_custom_function(text_of_number(draft.attribute(kFunctionName).integer()));
  if (function == nullptr) {
    fail(text(called(draft), " is unknown to 'builtin_custom_op'; register_custom_function() makes",
              " its semantics known to the simulator."),
         ErrorKind::kNotImplemented);
  }
  const std::vector<View> sources = present(draft, 0);
  const std::vector<View> destinations = present(draft, kEach);
  check_count(draft, "sources", sources.size(), function->sources);
  check_count(draft, "destinations", destinations.size(), function->destinations);
  for (int i = 0; i < draft.operand_count(); ++i) {
    if (!draft.operand(i).present()) continue;
    checks::compute_operand(kName, kOperands[i].name, draft.operand(i), draft.engine, architecture);
  }
  const std::vector<Dtype> in = dtypes(sources), out = dtypes(destinations);
  if (function->accepts && !function->accepts(in, out)) {
    fail(text(called(draft), " does not accept the dtypes ", list(in), " -> ", list(out),
              " of 'builtin_custom_op'."),
         ErrorKind::kType);
  }
}

void run(const Instance& instance) {
  const CustomFunction& function = function_of(instance.attributes);
  function.run(instance.operands.subspan(0, static_cast<size_t>(function.sources)),
               instance.operands.subspan(kEach, static_cast<size_t>(function.destinations)));
}

Demand demand(const Draft& draft, const Architecture&) {
  int64_t elements = 0;
  for (const View& view : draft.operands) {
    if (view.present()) elements = std::max(elements, view.free_elements());
  }
  const double steps =
      function_of(draft.attributes).cycles_per_element * static_cast<double>(elements);
  Demand demand;
  demand.add({.unit = Unit::kElementwise,
              .rate = RateClass::kGpSimdStep,
              .elements = static_cast<int64_t>(std::ceil(steps))});
  return demand;
}

void place(std::vector<View>& operands, size_t first, const std::vector<View>& views,
           const char* what) {
  if (views.size() > static_cast<size_t>(kEach)) {
    fail(text("'builtin_custom_op' has ", static_cast<int64_t>(views.size()), " ", what,
              "; at most ", kEach, " are supported."));
  }
  for (size_t i = 0; i < views.size(); ++i) {
    if (!views[i].present()) {
      fail(text(what, "[", static_cast<int64_t>(i), "] of 'builtin_custom_op' is missing."));
    }
    operands[first + i] = views[i];
  }
}

}  // namespace

Draft BuiltinCustomOp::draft() const {
  Draft draft = draft_of(kBuiltinCustomOp, *this);
  place(draft.operands, 0, srcs, "srcs");
  place(draft.operands, kEach, dsts, "dsts");
  const std::string* const texts[] = {&function_name, &lib_file_name, &ulib_to_ucode_version,
                                      &ulib_to_isa_version};
  for (size_t i = 0; i < std::size(texts); ++i) {
    draft.attributes[i] = Attribute::of(number_of_text(*texts[i]));
  }
  return draft;
}

const InstructionType kBuiltinCustomOp = {kName, kOperands, kAttributes, choose_engine,
                                          check, run,       demand};

}  // namespace neuron_sim
