// The words by which a schedule's trace names tail strategies and scopes.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "kernels/schedule/schedule.h"

namespace smelt::kernels::schedule {

std::string TailName(TailStrategy tail);
std::optional<TailStrategy> TailFromName(std::string_view name);
std::string ScopeName(ir::Scope scope);
std::optional<ir::Scope> ScopeFromName(std::string_view name);

}  // namespace smelt::kernels::schedule
