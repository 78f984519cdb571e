// The one handler behind every call of a kernel of ours in XLA's programs.
//
// Compiled on first use with the headers that jaxlib ships, for the jaxlib that is installed. A call names its kernel
// by an attribute; smelt_load() makes the kernels of a folder's library known. They run on XLA's own thread pool.
#include <dlfcn.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kernel_table.h"
#include "xla/ffi/api/ffi.h"

namespace smelt {
namespace {

namespace ffi = xla::ffi;

// Libraries stay loaded: programs that call into them may live as long as the process.
struct Kernels {
  std::shared_mutex mutex;
  std::unordered_map<std::string_view, const Kernel*> by_id;  // names are the libraries'
};
Kernels& AllKernels() {
  static Kernels* const kernels = new Kernels;  // never destroyed: other threads may run when the process ends
  return *kernels;
}

const Kernel* Find(std::string_view id) {
  Kernels& kernels = AllKernels();
  const std::shared_lock lock(kernels.mutex);
  const auto at = kernels.by_id.find(id);
  return at == kernels.by_id.end() ? nullptr : at->second;
}

int64_t Padded(int64_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

// Memory of the calling thread that grows and is kept, so that calls do not allocate.
class Scratch {
 public:
  ~Scratch() { std::free(data_); }
  char* Get(int64_t bytes) {
    if (bytes > size_) {
      std::free(data_);
      data_ = static_cast<char*>(std::aligned_alloc(kAlignment, static_cast<size_t>(bytes)));
      size_ = data_ == nullptr ? 0 : bytes;
    }
    return data_;
  }

 private:
  char* data_ = nullptr;
  int64_t size_ = 0;
};

// Treats subnormal numbers as zero while it lives: XLA computes so on a CPU.
class FlushSubnormals {
 public:
  FlushSubnormals() : saved_(_mm_getcsr()) { _mm_setcsr(saved_ | 0x8040); }
  ~FlushSubnormals() { _mm_setcsr(saved_); }

 private:
  const unsigned saved_;
};

// One phase on several threads. Each takes the next piece until none is left, the caller too, which then waits for
// those who have begun one: it never waits for a task that has not started, so calls on the pool's own threads cannot
// block each other.
class ParallelPhase {
 public:
  ParallelPhase(const Phase& phase, void* const* buffers, char* scratch, int64_t stride, int64_t workers)
      : phase_(phase), buffers_(buffers), scratch_(scratch), stride_(stride), workers_(workers) {}

  void Work() {
    const int64_t worker = next_worker_.fetch_add(1);
    if (worker >= workers_) return;
    const FlushSubnormals flush;
    for (int64_t piece = next_piece_.fetch_add(1); piece < workers_; piece = next_piece_.fetch_add(1)) {
      const int64_t begin = phase_.extent * piece / workers_, end = phase_.extent * (piece + 1) / workers_;
      if (begin < end) phase_.function(buffers_, scratch_ + worker * stride_, begin, end);
      if (done_.fetch_add(1) + 1 == workers_) {
        const std::lock_guard lock(mutex_);
        all_done_.notify_all();
      }
    }
  }
  void Wait() {
    for (int spin = 0; spin < 4000; ++spin) {
      if (done_.load() == workers_) return;
      _mm_pause();
    }
    std::unique_lock lock(mutex_);
    all_done_.wait(lock, [this] { return done_.load() == workers_; });
  }

 private:
  const Phase phase_;
  void* const* const buffers_;
  char* const scratch_;
  const int64_t stride_, workers_;
  std::atomic<int64_t> next_worker_ = 0, next_piece_ = 0, done_ = 0;
  std::mutex mutex_;
  std::condition_variable all_done_;
};

void RunPhase(const Phase& phase, void* const* buffers, char* scratch, int64_t stride, int64_t threads,
              ffi::ThreadPool& pool) {
  const int64_t workers = std::min(threads, phase.extent);
  if (workers <= 1) {
    const FlushSubnormals flush;
    phase.function(buffers, scratch, 0, phase.extent);
    return;
  }
  // Shared: a task that starts late finds no piece, perhaps after this call has returned.
  const auto parallel = std::make_shared<ParallelPhase>(phase, buffers, scratch, stride, workers);
  for (int64_t worker = 1; worker < workers; ++worker) pool.Schedule([parallel] { parallel->Work(); });
  parallel->Work();
  parallel->Wait();
}

ffi::Error Call(ffi::ThreadPool pool, std::string_view id, ffi::RemainingArgs arguments, ffi::RemainingRets results) {
  const Kernel* kernel = Find(id);
  if (kernel == nullptr) {
    return ffi::Error(ffi::ErrorCode::kNotFound, "smelt: kernel " + std::string(id) +
                                                     " is not loaded in this process: enter "
                                                     "smelt.jax.optimize with the folder that has it");
  }
  if (static_cast<int64_t>(arguments.size()) != kernel->inputs ||
      static_cast<int64_t>(results.size()) != kernel->outputs) {
    return ffi::Error(ffi::ErrorCode::kInvalidArgument, "smelt: kernel " + std::string(id) + " takes " +
                                                            std::to_string(kernel->inputs) + " arrays and gives " +
                                                            std::to_string(kernel->outputs));
  }
  // Buffers, and copies of the few that are not aligned.
  const int64_t count = kernel->inputs + kernel->outputs + kernel->shared_count;
  thread_local std::vector<void*> buffers;
  thread_local std::vector<int64_t> sizes;
  buffers.assign(static_cast<size_t>(count), nullptr);
  sizes.assign(static_cast<size_t>(kernel->inputs + kernel->outputs), 0);
  for (int64_t i = 0; i < kernel->inputs; ++i) {
    const auto argument = arguments.get<ffi::AnyBuffer>(static_cast<size_t>(i));
    if (argument.has_error()) return argument.error();
    buffers[i] = argument->untyped_data();
    sizes[i] = static_cast<int64_t>(argument->size_bytes());
  }
  for (int64_t i = 0; i < kernel->outputs; ++i) {
    auto result = results.get<ffi::AnyBuffer>(static_cast<size_t>(i));
    if (result.has_error()) return result.error();
    buffers[kernel->inputs + i] = (*result)->untyped_data();
    sizes[kernel->inputs + i] = static_cast<int64_t>((*result)->size_bytes());
  }
  const int64_t threads = std::max<int64_t>(pool.num_threads(), 1);
  const int64_t stride = Padded(kernel->thread_scratch_bytes);
  int64_t bytes = threads * stride;
  for (int64_t i = 0; i < kernel->shared_count; ++i) bytes += Padded(kernel->shared_bytes[i]);
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (reinterpret_cast<uintptr_t>(buffers[i]) % kAlignment != 0) bytes += Padded(sizes[i]);
  }
  thread_local Scratch memory;
  char* at = memory.Get(bytes);
  if (at == nullptr && bytes > 0) {
    return ffi::Error(ffi::ErrorCode::kResourceExhausted,
                      "smelt: no memory for " + std::to_string(bytes) + " bytes of scratch");
  }
  char* const scratch = at;
  at += threads * stride;
  for (int64_t i = 0; i < kernel->shared_count; ++i) {
    buffers[kernel->inputs + kernel->outputs + i] = at;
    at += Padded(kernel->shared_bytes[i]);
  }
  std::vector<std::pair<void*, size_t>> copied_back;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (reinterpret_cast<uintptr_t>(buffers[i]) % kAlignment == 0) continue;
    if (static_cast<int64_t>(i) < kernel->inputs) {
      std::memcpy(at, buffers[i], static_cast<size_t>(sizes[i]));
    } else {
      copied_back.push_back({buffers[i], i});
    }
    buffers[i] = at;
    at += Padded(sizes[i]);
  }
  for (int64_t i = 0; i < kernel->phase_count; ++i)
    RunPhase(kernel->phases[i], buffers.data(), scratch, stride, threads, pool);
  for (const auto& [result, i] : copied_back) std::memcpy(result, buffers[i], static_cast<size_t>(sizes[i]));
  return ffi::Error::Success();
}

// Asks Linux for the registers of AMX, as runtime/tile_permission.h does: for all threads of this process.
bool MayUseTiles() {
  constexpr long kRequestPermission = 0x1023, kTileData = 18;
  return ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace
}  // namespace smelt

XLA_FFI_DEFINE_HANDLER_SYMBOL(
    smelt_kernel, smelt::Call,
    xla::ffi::Ffi::Bind().Ctx<xla::ffi::ThreadPool>().Attr<std::string_view>("kernel").RemainingArgs().RemainingRets());

// Makes the kernels of a library known. Null, or what is wrong, which stays valid until the next call of the thread.
extern "C" const char* smelt_load(const char* path) {
  thread_local std::string error;
  void* library = ::dlopen(path, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    error = ::dlerror();
    return error.c_str();
  }
  const auto* version = static_cast<const int64_t*>(::dlsym(library, "smelt_table_version"));
  const auto* count = static_cast<const int64_t*>(::dlsym(library, "smelt_kernel_count"));
  const auto* kernels = static_cast<const smelt::Kernel*>(::dlsym(library, "smelt_kernels"));
  if (version == nullptr || *version != smelt::kTableVersion || count == nullptr || kernels == nullptr) {
    error = std::string(path) + ": no library of kernels of this version";
    ::dlclose(library);
    return error.c_str();
  }
  const auto* tiles = static_cast<const int64_t*>(::dlsym(library, "smelt_uses_tiles"));
  if (tiles != nullptr && *tiles != 0 && !smelt::MayUseTiles()) {
    error = std::string(path) + ": uses AMX, which Linux does not let this process: tune again in it";
    ::dlclose(library);
    return error.c_str();
  }
  smelt::Kernels& all = smelt::AllKernels();
  const std::unique_lock lock(all.mutex);
  for (int64_t i = 0; i < *count; ++i) all.by_id.emplace(kernels[i].id, &kernels[i]);
  return nullptr;
}
