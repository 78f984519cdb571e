// The words by which a schedule's trace names tail strategies. Scopes have theirs in their table (te/scope.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/schedule/schedule.h"

namespace smelt::kernels::schedule {

std::string TailName(TailStrategy tail);
std::optional<TailStrategy> TailFromName(std::string_view name);

}  // namespace smelt::kernels::schedule
