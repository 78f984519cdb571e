#include "machine/machine.h"

#include <algorithm>

#include "base/str_cat.h"

namespace smelt::machine {
namespace {

constexpr std::string_view kBandwidth = "_bandwidth";

struct Figure {
  const char* name;
  double Machine::*field;
};
const Figure kFigures[] = {
    {"peak_flops_f32", &Machine::peak_flops_f32},
    {"vector_flops_f32", &Machine::vector_flops_f32},
    {"launch_seconds", &Machine::launch_seconds},
    {"fork_seconds", &Machine::fork_seconds},
};

}  // namespace

int64_t Machine::LevelBytes(int level) const { return levels[std::min<size_t>(level, levels.size() - 2)].bytes; }

double Machine::BandwidthOf(double bytes) const {
  for (size_t level = 0; level + 2 < levels.size(); ++level) {
    if (bytes <= static_cast<double>(levels[level].bytes)) return levels[level].bytes_per_second;
  }
  if (levels.size() < 2) return levels.back().bytes_per_second;
  // The last cache has other users, too. Where it begins to be missed and where nothing is left in it, in its sizes:
  // what kernels of 1 to 100 MB reach.
  constexpr double kWhole = 0.35, kNothing = 2;
  const MemoryLevel& cache = levels[levels.size() - 2];
  const double fill = bytes / static_cast<double>(cache.bytes);
  const double missed = std::clamp((fill - kWhole) / (kNothing - kWhole), 0.0, 1.0);
  return 1 / ((1 - missed) / cache.bytes_per_second + missed / levels.back().bytes_per_second);
}

double* Machine::FigureOf(std::string_view name) {
  for (const Figure& figure : kFigures) {
    if (name == figure.name) return &(this->*figure.field);
  }
  for (MemoryLevel& level : levels) {
    if (name == StrCat(level.scope, kBandwidth)) return &level.bytes_per_second;
  }
  return nullptr;
}

std::map<std::string, double> Machine::Figures() const {
  std::map<std::string, double> figures;
  for (const Figure& figure : kFigures) figures[figure.name] = this->*figure.field;
  for (const MemoryLevel& level : levels) figures[StrCat(level.scope, kBandwidth)] = level.bytes_per_second;
  return figures;
}

absl::Status Machine::SetFigures(const std::map<std::string, double>& figures) {
  for (const auto& [name, value] : figures) {
    double* figure = FigureOf(name);
    if (figure == nullptr) return absl::InvalidArgumentError(StrCat("`", name, "` is no figure of a machine"));
    if (!(value > 0)) return absl::InvalidArgumentError(StrCat("figure `", name, "` of a machine is not above 0"));
    *figure = value;
  }
  if (figures.contains("peak_flops_f32") && !figures.contains("vector_flops_f32")) vector_flops_f32 = peak_flops_f32;
  return absl::OkStatus();
}

absl::Status Machine::TakeFigures(std::map<std::string, double> figures) {
  const std::map<std::string, double> own = Figures();
  std::erase_if(figures,
                [&](const auto& figure) { return figure.first.ends_with(kBandwidth) && !own.contains(figure.first); });
  return SetFigures(figures);
}

}  // namespace smelt::machine
