// From a kernel (a fused HLO computation) to code that runs: the whole way through tensor expressions, schedule, loop
// IR and LLVM, with a cache.
//
//   KernelCache cache(KernelCache::DefaultFolder());
//   auto kernel = CompileKernel(computation, target, {}, &cache).value();
#pragma once

#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "base/hash.h"
#include "hlo/computation.h"
#include "kernels/config/choice.h"
#include "runtime/kernel_code.h"
#include "targets/cpu/codegen/target.h"

namespace smelt::cpu {

// What a kernel became on its way, for people to read.
struct KernelListing {
  std::string loops;     // loop IR
  std::string assembly;  // of the target
  // te::AlgorithmName of a convolution that is not the direct sum; the schedule is one of this algorithm's stages.
  std::string algorithm = {};
};

struct CompileOptions {
  // The default is the tile that suits the kernel's loops best (nests::PreferredTiles); where a contraction spills
  // vectors with it whatever its register tile, the one of the first few that spills least, unless lines of a depthwise
  // window go together in it, which is worth more. Only compiling tells, so
  // CompiledKernel::tile says which it was, and nothing else defines it. Whatever is chosen explicitly is compiled as
  // it says, or is an error; a tile leaves the register tile to us.
  kernels::config::ScheduleChoice schedule;
  // Array leaves of the kernel's parameters, by number, whose values are known before the call: what is packed of them
  // alone becomes phases of its own, which can run beforehand: a convolution is by default computed by Winograd's
  // algorithm where the analytical estimate says that it pays (cost::DefaultAlgorithm), and weights that are not known
  // are transformed in every call.
  std::vector<int64_t> known;
  // Array leaves of the kernel's result, by number, whose whole lines are written past the caches
  // (kernels/cost/default_schedule.h); where code reads its results again they are not.
  std::vector<int64_t> streamed;
  KernelListing* listing = nullptr;  // filled in; the cache, which does not keep listings, is then left alone
};

struct CompiledKernel {
  std::shared_ptr<runtime::KernelCode> code;
  std::string trace;  // the schedule
  // The tile, "1x8x32", "winograd4:1x2x14x64"; or the choice in a line (kernels::config::ToLine); or "fallback": the
  // schedule that every graph has, where the templates foresaw too little.
  std::string tile;
  int vector_spills = 0;
  double compile_seconds = 0;  // 0 when it came from the cache
};

// Code by hash of kernel, target, compiler version and schedule, so that choices which make the same schedule are
// compiled once; the default's by the word. In memory and, with a folder, on disk (one file a kernel,
// checksummed, written to a temporary name and renamed; a torn or foreign file is ignored and made again). Thread-safe.
class KernelCache {
 public:
  explicit KernelCache(std::string folder = "") : folder_(std::move(folder)) {}
  static std::string DefaultFolder();  // DefaultCacheFolder of cache_folder.h

  std::shared_ptr<const CompiledKernel> Find(const Hash128& key);
  // A full disk or a folder that cannot be written costs only the file (TakeCacheTrouble of cache_folder.h).
  void Insert(const Hash128& key, std::shared_ptr<const CompiledKernel> kernel, const std::string& elf);

 private:
  void MakeRoom();  // under mutex_

  std::string folder_;
  std::mutex mutex_;
  absl::flat_hash_map<Hash128, std::shared_ptr<const CompiledKernel>> kernels_;
};

// Errors: Unimplemented naming the instruction that has no loop nest (the executor then runs it as an opaque
// operation); of an explicit choice, those of kernels::config::ScheduleOf and of Winograd's algorithms, of lowering and
// of code generation.
absl::StatusOr<std::shared_ptr<const CompiledKernel>> CompileKernel(const hlo::Computation& kernel,
                                                                    const Target& target, const CompileOptions& options,
                                                                    KernelCache* cache);

// A relocatable object for programs that link kernels themselves. Its functions are smelt_SYMBOL_0, smelt_SYMBOL_1,
// ..., one a phase (runtime::PhaseFunction), and call nothing but the C library's memory and mathematical functions.
struct KernelObject {
  std::string elf;
  runtime::KernelDescriptor descriptor;
  std::string tile;
  int vector_spills = 0;
};
// `symbol`: letters, digits and underscores. Errors as CompileKernel.
absl::StatusOr<KernelObject> CompileObject(const hlo::Computation& kernel, const Target& target,
                                           const CompileOptions& options, const std::string& symbol);

}  // namespace smelt::cpu
