#include "targets/xla/choices.h"

#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"

namespace smelt::xla {

Choices::Choices(const XlaProgram& program, const hlo::Module& module, int threads)
    : library_(program.library_kernels), callable_(FindCallable(module)), threads_(threads) {
  for (const auto& [hash, name] : callable_.convolutions) kernels_[hash].push_back(kCallTile);
  for (const auto& [hash, name] : library_) kernels_[hash].push_back(kLibraryTile);
  all_ = kernels_;
  for (const auto& [key, name] : callable_.loops) all_[key] = {kCallTile};
  if (threads_ > 1) all_[UncutKey()] = {kUncutTile};
}

bool Choices::IsPlain(const Tiles& tiles) const {
  return absl::c_none_of(
      tiles, [&](const auto& entry) { return entry.second == kUncutTile || callable_.loops.contains(entry.first); });
}

std::vector<Tiles> Choices::WholeProgram() const {
  Tiles loops, uncut;
  for (const auto& [key, name] : callable_.loops) loops[key] = kCallTile;
  if (threads_ > 1) uncut[UncutKey()] = kUncutTile;
  if (loops.empty() && uncut.empty()) return {};
  if (loops.empty()) return {uncut};
  if (uncut.empty()) return {loops};
  Tiles both = loops;
  both.insert(uncut.begin(), uncut.end());
  return {both, loops, uncut};
}

Tiles Choices::Library() const {
  Tiles tiles;
  for (const auto& [hash, name] : library_) tiles[hash] = kLibraryTile;
  return tiles;
}

std::string Choices::Name(const std::string& key) const {
  if (key == UncutKey()) return "all fusions";
  for (const auto* names : {&callable_.loops, &callable_.convolutions, &library_}) {
    if (const auto name = names->find(key); name != names->end()) return name->second;
  }
  return key;
}

std::string Choices::Describe() const {
  return absl::StrCat(library_.size(), " kernels that XLA's library can run, ", callable_.convolutions.size(),
                      " convolutions and ", callable_.loops.size(), " loops that can be functions of their own");
}

bool SameCalls(const Tiles& one, const Tiles& other) {
  const auto calls = [](const Tiles& tiles) {
    std::set<std::string> keys;
    for (const auto& [key, tile] : tiles) {
      if (tile != kLibraryTile) keys.insert(key);
    }
    return keys;
  };
  return calls(one) == calls(other);
}

}  // namespace smelt::xla
