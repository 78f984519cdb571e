// A folder that is made beside its place and takes it once it is whole, so that nobody sees half of it.
//
//   auto staging = StagingFolder::Create("resnet18.smeltmod", "plan.bin").value();
//   const std::string path = staging->Path("plan.bin");   // where it is written
//   staging->Commit().ok();
#pragma once

#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace smelt::cpu::deploy {

class StagingFolder {
 public:
  // `proof`: a file that a folder of this kind has. What stands at `path` already may be an empty folder or one with
  // that file; anything else is an InvalidArgument error, so that no folder of another kind is lost. Leftovers of
  // processes that were killed go. Unavailable: the system's reason.
  static absl::StatusOr<std::unique_ptr<StagingFolder>> Create(const std::string& path, const std::string& proof);
  ~StagingFolder();  // without Commit, nothing is left
  StagingFolder(const StagingFolder&) = delete;
  StagingFolder& operator=(const StagingFolder&) = delete;

  std::string Path(const std::string& name) const { return folder_ + "/" + name; }
  // Puts it in its place: at every moment there is the old folder or the new one.
  absl::Status Commit();

 private:
  StagingFolder(std::string path, std::string folder) : path_(std::move(path)), folder_(std::move(folder)) {}
  const std::string path_, folder_;
};

}  // namespace smelt::cpu::deploy
