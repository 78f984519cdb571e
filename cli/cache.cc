// smelt cache: what the folder of compiled kernels holds, and room in it.
#include <cstdio>
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/cache_folder.h"
#include "base/status_macros.h"
#include "cli/print_json.h"
#include "cli/verb.h"

namespace smelt::cli {
namespace {

struct CacheFlags {
  std::string folder, trim;
  bool clear = false, json = false;
};

std::string Size(int64_t bytes) {
  if (bytes >= int64_t{1} << 30) return absl::StrFormat("%.2f GiB", static_cast<double>(bytes) / (1 << 30));
  if (bytes >= 1 << 20) return absl::StrFormat("%.1f MiB", static_cast<double>(bytes) / (1 << 20));
  return absl::StrFormat("%.1f KiB", static_cast<double>(bytes) / (1 << 10));
}

absl::Status Cache(const CacheFlags& flags) {
  const std::string folder = flags.folder.empty() ? DefaultCacheFolder() : flags.folder;
  if (folder.empty())
    return absl::FailedPreconditionError("no cache folder is known: set $SMELT_CACHE or $HOME, or give --cache=FOLDER");
  SMELT_ASSIGN_OR_RETURN(const int64_t limit, CacheLimit());
  CacheUse use;
  if (flags.clear) {
    use = TrimCache(folder, 0);
  } else if (!flags.trim.empty()) {
    SMELT_ASSIGN_OR_RETURN(const int64_t most, ParseSize(flags.trim));
    use = TrimCache(folder, most);
  } else {
    use = MeasureCache(folder);
  }
  if (flags.json) {
    PrintJson({{"folder", folder},
               {"entries", use.entries},
               {"bytes", use.bytes},
               {"limit", limit},
               {"removed", use.removed},
               {"removed_bytes", use.removed_bytes}});
    return absl::OkStatus();
  }
  if (use.removed > 0) std::printf("removed  %ld files, %s\n", use.removed, Size(use.removed_bytes).c_str());
  std::printf("folder   %s\nentries  %ld\nsize     %s of at most %s ($SMELT_CACHE_LIMIT)\n", folder.c_str(),
              use.entries, Size(use.bytes).c_str(), Size(limit).c_str());
  return absl::OkStatus();
}

// A size that ParseSize reads, refused while the words are read.
std::string CheckSize(const std::string& text) { return std::string(ParseSize(text).status().message()); }

}  // namespace

Action AddCache(Arguments& arguments) {
  auto flags = std::make_shared<CacheFlags>();
  arguments.Add("--cache", flags->folder, "The folder; by default $SMELT_CACHE or ~/.cache/smelt");
  const Argument trim =
      arguments
          .Add("--trim", flags->trim,
               "Remove what was not used for longest, until no more than this is left: bytes, or as 500M, 4G")
          .Check(CheckSize);
  arguments.AddFlag("--clear", flags->clear, "Remove all that is kept; what needs it compiles again").Excludes(trim);
  arguments.AddFlag("--json", flags->json, "Machine-readable result on standard output");
  return [flags] { return Cache(*flags); };
}

}  // namespace smelt::cli
