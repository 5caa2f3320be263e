#include "device/compiler/attempts.h"

#include <map>

namespace neuron_sim {

std::vector<Attempt> attempts(const PassSettings& settings, bool loads_in_time) {
  std::map<int, const Pass*> turns;
  for (const Pass& pass : pipeline()) {
    if (settings[pass.switched_by()] == 0) continue;
    if (pass.keeps_less > 0) turns.emplace(pass.keeps_less, &pass);
    if (pass.gives_way > 0) turns.emplace(pass.gives_way, &pass);
  }
  std::vector<Attempt> result{{settings}};
  for (const auto& [turn, pass] : turns) {
    result.push_back(result.back());
    if (turn == pass->keeps_less) {
      while (--result.back().room_to_keep > kWholeRoom / 2) result.push_back(result.back());
      if (loads_in_time) break;
    } else {
      result.back().settings.set(pass->switched_by(), 0);
    }
  }
  return result;
}

std::vector<PassSettings> attempts_with_spills(PassSettings settings) {
  settings.set("rename_buffers", 1);
  std::vector<PassSettings> result{settings, attempts(settings, false).back().settings, settings};
  for (const PassSetting& each : pass_settings()) {
    if (pass_named(each.pass).stage == Stage::kMiddleEnd) result.back().set(each.name, 0);
  }
  return result;
}

}  // namespace neuron_sim
