// The columns of an exchanged table, and what they are of a record.
#pragma once

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "gnn/corpus/corpus.h"

namespace smelt::gnn {

struct TableColumn {
  const char* name;
  // The field as text, and the text into the field. The latter's error says what was expected.
  std::string (*get)(const KernelExample& record, const Measurement& measurement);
  absl::Status (*set)(const std::string& text, KernelExample* record, Measurement* measurement);
};
const std::vector<TableColumn>& TableColumns();

}  // namespace smelt::gnn
