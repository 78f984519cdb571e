#include "kernels/te/scope.h"

namespace smelt::kernels::te {

std::optional<Scope> ScopeTable::Find(std::string_view name) const {
  for (const Scope* row : {&argument, &root, &attached}) {
    if (row->name == name) return *row;
  }
  for (const Scope& row : others) {
    if (row.name == name) return row;
  }
  return std::nullopt;
}

bool ScopeTable::Contains(const Scope& scope) const {
  const std::optional<Scope> found = Find(scope.name);
  return found.has_value() && *found == scope;
}

std::string ScopeTable::Names() const {
  std::string names(root.name);
  if (attached != root) names.append(" ").append(attached.name);
  for (const Scope& row : others) names.append(" ").append(row.name);
  return names;
}

}  // namespace smelt::kernels::te
