#pragma once
// Values alone in an architecture file: "what if" in one line per change, without unit, source and
// certainty. Internal to device/arch.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "device/arch/document.h"
#include "device/arch/fact_groups.h"

namespace neuron_sim {

/// The keys that a name in an architecture file stands for: a group's, the engines' for a fact of
/// [engine], or the name itself when it is the key of another fact. Empty for an unknown name.
std::vector<std::string> overridden_keys(std::string_view name);

/// The factor that a text such as "2x" or "0.5x" states; nothing for any other text.
std::optional<double> factor_of(std::string_view text);

/// `document` with its overrides applied to its facts, which are those of its bases too. An
/// overridden fact keeps its unit; it is assumed, and its source says what it was. KernelError when
/// a fact is missing, a whole number becomes a fraction, or a value is out of range.
Document with_overrides(Document document, const std::string& file);

}  // namespace neuron_sim
