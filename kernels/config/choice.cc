#include "kernels/config/choice.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "kernels/config/config.h"
#include "kernels/config/master.h"
#include "kernels/te/hlo/algorithm.h"
#include "kernels/templates/dot_instruction.h"
#include "kernels/templates/templates.h"
#include "kernels/tiles/kernel_schedule.h"

namespace smelt::kernels::config {

absl::StatusOr<ScheduleChoice> ParseChoice(std::string_view text) {
  const absl::string_view view(text.data(), text.size());
  if (view.empty() || view == "default") return ScheduleChoice(DefaultSchedule());
  if (text == te::AlgorithmName(te::ConvolutionAlgorithm::kDirect)) return ScheduleChoice(DefaultSchedule{true});
  if (absl::StartsWith(view, "smelt schedule")) {
    SMELT_ASSIGN_OR_RETURN(std::vector<KernelTrace> traces, ParseTraces(text, "schedule"));
    if (traces.size() != 1) {
      return absl::InvalidArgumentError(
          absl::StrCat("the schedule of a kernel holds those of ", traces.size(), " kernels, expected one"));
    }
    return ScheduleChoice(std::move(traces.front()));
  }
  if (absl::StrContains(view, "=")) return ScheduleChoice(ConfigText{std::string(text)});
  SMELT_ASSIGN_OR_RETURN(nests::Tile tile, nests::Tile::Parse(text));
  return ScheduleChoice(std::move(tile));
}

std::string ToText(const ScheduleChoice& choice) {
  if (const auto* tile = std::get_if<nests::Tile>(&choice)) return tile->ToString();
  if (const auto* config = std::get_if<ConfigText>(&choice)) return config->text;
  if (const auto* trace = std::get_if<KernelTrace>(&choice)) return PrintTraces(absl::MakeConstSpan(trace, 1));
  return std::get<DefaultSchedule>(choice).direct ? std::string(te::AlgorithmName(te::ConvolutionAlgorithm::kDirect))
                                                  : "";
}

std::string ToLine(const ScheduleChoice& choice) {
  if (choice == ScheduleChoice(DefaultSchedule())) return "default";
  if (const auto* trace = std::get_if<KernelTrace>(&choice))
    return absl::StrCat("trace ", HashOf(trace->steps).ToHex().substr(0, 16));
  return ToText(choice);
}

absl::Status CheckChoice(const ScheduleChoice& choice, const Hash128& kernel) {
  const auto* trace = std::get_if<KernelTrace>(&choice);
  if (trace == nullptr || trace->kernel == kernel) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat("the schedule was made for kernel ", trace->kernel.ToHex(),
                                                 trace->name.empty() ? "" : " (", trace->name,
                                                 trace->name.empty() ? "" : ")", ", this one is ", kernel.ToHex(),
                                                 ": print this one's with `smelt inspect --kernel=NAME --schedule`"));
}

absl::StatusOr<schedule::Schedule> ScheduleOf(const ScheduleChoice& choice, const nests::Structure& structure,
                                              const machine::Machine& target, const nests::ScheduleOptions& options) {
  if (const auto* tile = std::get_if<nests::Tile>(&choice)) {
    SMELT_ASSIGN_OR_RETURN(const nests::Tile whole, nests::WithExtents(structure.main_nest(), *tile, target));
    SMELT_RETURN_IF_ERROR(nests::CheckTile(structure.main_nest(), whole));
    return nests::ScheduleStructure(structure, whole.extents, target, options);
  }
  if (const auto* config = std::get_if<ConfigText>(&choice)) {
    SMELT_ASSIGN_OR_RETURN(std::shared_ptr<const MasterTemplate> master, MasterTemplate::Of(structure, target));
    const ConfigSpace space(std::move(master));
    SMELT_ASSIGN_OR_RETURN(const Config point, space.Parse(config->text));
    return space.ScheduleFor(point);
  }
  if (const auto* trace = std::get_if<KernelTrace>(&choice)) {
    return schedule::Schedule::Replay(structure.graph, trace->steps, {}, nests::DotInstructions(target));
  }
  return nests::ScheduleStructure(structure, nests::PreferredTiles(structure.main_nest(), target).front(), target,
                                  options);
}

}  // namespace smelt::kernels::config
