#include "cli/print_json.h"

#include <cstdio>

namespace smelt::cli {

void PrintJson(const nlohmann::json& value) {
  std::printf("%s\n", value.dump(2, ' ', /*ensure_ascii=*/false, nlohmann::json::error_handler_t::replace).c_str());
}

}  // namespace smelt::cli
