// Corpora: kernels with measured times, in checksummed shards.
//
// A corpus is a folder of `shard-NNNNN.tfrecord` files in the TFRecord framing (length, masked CRC-32C of it, data,
// masked CRC-32C), whose records are KernelExample protos (gnn/corpus/kernel_example.proto). Readers stream in bounded
// memory; a torn tail is skipped and reported, a corrupt record inside a shard is an error naming the shard and offset.
// Writers append one record at a time and flush it, so that a kill loses at most the record in progress.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "fusion/kernel.h"
#include "kernels/tiles/tiles.h"

namespace smelt::gnn {

// One timed variant of a kernel. The fusion task has one (the default tile), the tile task several.
struct Measurement {
  kernels::nests::Tile tile;
  bool default_tile = false;
  std::vector<double> seconds;  // every repeat; the label is the minimum
  std::string error;  // why there is no time: build failed, crashed, timed out, wrong answer; empty when measured
  std::vector<double> reference_seconds;  // of the reference kernel, before and after; or none

  double label() const;  // minimum of `seconds`
};

// One visit to a kernel. A kernel that was visited again, in another process, has another record.
struct KernelExample {
  std::string program;      // stem of the module's file: splits are by program
  std::string kernel_text;  // HLO text of the kernel's module, canonical print
  Hash128 hash;             // fusion::TimedHash
  std::string target;       // whose code was timed, where: TargetId::ToString() (machine/target_id.h)
  std::string device;       // CPU model as the system names it
  std::string policy;       // how it was timed: threads, warm-up, repeats, cache state
  std::string compiler;     // codegen::CompilerVersion()
  std::string trace;        // schedule of the default tile
  std::vector<Measurement> measurements;
  std::string machine;       // machine::DescribeMachine(); empty: not told
  std::string provenance;    // heuristic, random, walk, variant, again or imported, with details behind a colon
  int64_t unix_seconds = 0;  // when; 0: not told
  std::string placement;     // which process, and where in it
  // How far away its arrays lay (fusion::Kernel::distances): bytes; empty: near.
  std::vector<int64_t> distances;
  double drift = 0;  // the reference kernel's time then over its usual time, minus 1

  // Whether its default was timed under another schedule than this one; false where either is not known, or where it
  // ran as a native operation.
  bool IsOfOtherSchedule(std::string_view schedule) const;
};

class CorpusWriter {
 public:
  // Opens (or continues: the torn tail of the last shard is cut off) a corpus folder.
  static absl::StatusOr<std::unique_ptr<CorpusWriter>> Open(const std::string& folder,
                                                            int64_t examples_per_shard = 4096);
  virtual ~CorpusWriter() = default;
  virtual absl::Status Append(const KernelExample& example) = 0;
};

struct CorpusReport {
  int64_t examples = 0;
  int64_t shards = 0;
  std::vector<std::string> warnings;  // torn tails: shard, offset, bytes skipped
};
// Calls `visit` for every example, in order; stops early when it returns an error.
absl::StatusOr<CorpusReport> ReadCorpus(const std::string& folder,
                                        const std::function<absl::Status(KernelExample)>& visit);

}  // namespace smelt::gnn
