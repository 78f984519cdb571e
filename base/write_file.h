// Whole files, or what was there before: nothing reads half a file, whatever ends the process or fills the disk.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace smelt {

// Writes a new file beside `path`, makes it durable and puts it in its place. Unavailable, naming `path` and the
// system's reason: it cannot be created or written; an older file of that name is then as it was.
absl::Status WriteFile(const std::string& path, std::string_view bytes);

// A file that is written in parts and takes its place once it is whole. Errors: as WriteFile's.
//
//   auto file = NewFile::Create("report.txt").value();
//   file->Write("all is well\n").ok();
//   file->Finish().ok();
class NewFile {
 public:
  static absl::StatusOr<std::unique_ptr<NewFile>> Create(const std::string& path);
  ~NewFile();  // without Finish, nothing is left
  NewFile(const NewFile&) = delete;
  NewFile& operator=(const NewFile&) = delete;

  absl::Status Write(std::string_view bytes);
  // Not durable: after a power failure it may be empty. For what is made again where it is missing or damaged.
  absl::Status Finish(bool durable = true);

 private:
  explicit NewFile(const std::string& path);
  absl::Status Failed(std::string_view what) const;  // by errno

  const std::string path_, temporary_;
  int descriptor_ = -1;
};

// What a file of this name is called once it is whole: without the .PID.NUMBER.tmp of a file that is being written.
// Empty: neither.
std::string_view FinalName(std::string_view name);

// Removes what writers that were killed left in this folder: unfinished files, a minute old and more, of processes that
// are gone. One that cannot be removed stays.
void RemoveLeftovers(const std::string& folder);

// Removes the file that is being written last. Any thread may call it where the process ends in the middle of its work.
// Allocates nothing and waits for nothing.
void RemoveUnfinishedFile();

}  // namespace smelt
