// Whole files, or what was there before: nothing reads half a file, whatever ends the process or fills the disk.
#pragma once

#include <string>
#include <string_view>

#include "absl/status/status.h"

namespace smelt {

// Writes a new file beside `path`, makes it durable and puts it in its place. Unavailable, naming `path` and the
// system's reason: it cannot be created or written; an older file of that name is then as it was.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

// While it lives, RemoveUnfinishedFile removes this file: one that is being written beside the file that it will
// replace.
class UnfinishedFile {
 public:
  explicit UnfinishedFile(const std::string& path);
  ~UnfinishedFile();
  UnfinishedFile(const UnfinishedFile&) = delete;
  UnfinishedFile& operator=(const UnfinishedFile&) = delete;
};

// For the end of a process in the middle of its work, from any thread: allocates nothing and waits for nothing.
void RemoveUnfinishedFile();

}  // namespace smelt
