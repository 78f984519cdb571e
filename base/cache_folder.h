// The folder of what is expensive to make again: compiled kernels, modules as XLA's passes leave them, StableHLO as
// HLO. All processes of a user share it. It is kept below a limit: what was not used for longest goes.
//
//   const std::string folder = DefaultCacheFolder();
//   KeepInCache(folder, folder + "/4f/4f0c....kernel", bytes);
//   CacheUse use = TrimCache(folder, CacheLimit().value());
//
// A file may go at any time; who reads one makes it again where it is missing. Thread-safe.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "absl/status/statusor.h"

namespace smelt {

// $SMELT_CACHE, or $XDG_CACHE_HOME/smelt, or ~/.cache/smelt; empty where none is known.
std::string DefaultCacheFolder();

// Bytes: $SMELT_CACHE_LIMIT, as 500M or 4G, or 2 GiB. InvalidArgument where it is no size.
absl::StatusOr<int64_t> CacheLimit();
// 1048576, 500K, 500M, 4G; with powers of 1024.
absl::StatusOr<int64_t> ParseSize(std::string_view text);

struct CacheUse {
  int64_t entries = 0, bytes = 0;
  int64_t removed = 0, removed_bytes = 0;  // by TrimCache
};
CacheUse MeasureCache(const std::string& folder);
// Removes what was not used for longest until no more than `limit` bytes are left, and what killed processes left half
// written. Nothing but files of these kinds is touched, whatever else the folder holds.
CacheUse TrimCache(const std::string& folder, int64_t limit);

// Writes a file of the folder, and trims it now and then. Where it cannot be written, this costs only the file;
// TakeCacheTrouble then says so. Empty bytes or an empty `folder`: nothing happens.
void KeepInCache(const std::string& folder, const std::string& path, std::string_view bytes);
// Notes that a file of the folder was used.
void NoteCacheUse(const std::string& path);

// What the user of this process should know about the folder, once; empty when all is well. A measuring child tells its
// parent, which notes it.
std::string TakeCacheTrouble();
void NoteCacheTrouble(const std::string& trouble);

}  // namespace smelt
