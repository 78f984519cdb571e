// Whole files, or what was there before: nothing reads half a file, whatever ends the process or fills the disk.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace smelt {

// Writes a new file beside `path`, makes it durable and puts it in its place. Unavailable, naming `path` and the
// system's reason: it cannot be created or written; an older file of that name is then as it was.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace smelt
