#include "device/compiler/attempts.h"

#include <map>

namespace neuron_sim {

std::vector<Attempt> attempts(const PassSettings& settings) {
  std::map<int, const Pass*> turns;
  for (const Pass& pass : pipeline()) {
    if (settings[pass.switched_by()] == 0) continue;
    if (pass.keeps_less > 0) turns.emplace(pass.keeps_less, &pass);
    if (pass.gives_way > 0) turns.emplace(pass.gives_way, &pass);
  }
  std::vector<Attempt> in_time{{settings}}, waiting{{settings, kWholeRoom, false}};
  bool in_turn = true;
  for (const auto& [turn, pass] : turns) {
    const auto next = [&, turn = turn, pass = pass](std::vector<Attempt>& list) {
      list.push_back(list.back());
      if (turn == pass->keeps_less) {
        while (--list.back().room_to_keep > kWholeRoom / 2) list.push_back(list.back());
      } else {
        list.back().settings.set(pass->switched_by(), 0);
      }
    };
    if (in_turn) next(in_time);
    next(waiting);
    if (turn == pass->keeps_less) in_turn = false;
  }
  in_time.insert(in_time.end(), waiting.begin(), waiting.end());
  return in_time;
}

std::vector<PassSettings> attempts_with_spills(PassSettings settings) {
  settings.set("rename_buffers", 1);
  std::vector<PassSettings> result{settings, attempts(settings).back().settings, settings};
  for (const PassSetting& each : pass_settings()) {
    if (pass_named(each.pass).stage == Stage::kMiddleEnd) result.back().set(each.name, 0);
  }
  return result;
}

}  // namespace neuron_sim
