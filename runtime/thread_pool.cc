#include "runtime/thread_pool.h"

#include <pthread.h>
#include <sched.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <thread>
#include <vector>

namespace smelt::runtime {
namespace {

// Spins of a worker before it parks: about 50 microseconds, longer than the gap between two kernels of a network.
constexpr int kSpins = 2000;

void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#else
  std::this_thread::yield();
#endif
}

std::vector<int> AllowedProcessors() {
  std::vector<int> processors;
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof(mask), &mask) != 0) return processors;
  for (int i = 0; i < CPU_SETSIZE; ++i) {
    if (CPU_ISSET(i, &mask)) processors.push_back(i);
  }
  return processors;
}

void Pin(pthread_t thread, const std::vector<int>& processors) {
  cpu_set_t mask;
  CPU_ZERO(&mask);
  for (int processor : processors) CPU_SET(processor, &mask);
  pthread_setaffinity_np(thread, sizeof(mask), &mask);
}

}  // namespace

struct ThreadPool::Impl {
  using Body = std::function<void(int, int64_t, int64_t)>;

  explicit Impl(int count) : threads(std::max(count, 1)) {
    processors = AllowedProcessors();
    // More workers than processors would wait for each other while they spin.
    may_spin = threads <= std::max<int>(static_cast<int>(processors.size()), 1);
    for (int worker = 1; worker < threads; ++worker) {
      workers.emplace_back([this, worker] { Work(worker); });
      // The first processor of the mask is the caller's; workers take the others from the end.
      if (may_spin && !processors.empty())
        Pin(workers.back().native_handle(), {processors[processors.size() - worker]});
    }
  }

  ~Impl() {
    {
      std::lock_guard<std::mutex> lock(mutex);
      stop.store(true);
      generation.fetch_add(1);
    }
    wake.notify_all();
    for (std::thread& worker : workers) worker.join();
  }

  void Run(int worker) {
    const int64_t size = extent;
    const int64_t begin = size * worker / threads;
    const int64_t end = size * (worker + 1) / threads;
    if (begin < end) (*body)(worker, begin, end);
  }

  void Work(int worker) {
    uint64_t seen = 0;
    while (true) {
      for (int spin = 0; may_spin && spin < kSpins && generation.load(std::memory_order_acquire) == seen; ++spin)
        Pause();
      if (generation.load(std::memory_order_acquire) == seen) {
        std::unique_lock<std::mutex> lock(mutex);
        ++parked;
        wake.wait(lock, [&] { return generation.load(std::memory_order_acquire) != seen; });
        --parked;
      }
      seen = generation.load(std::memory_order_acquire);
      if (stop.load()) return;
      Run(worker);
      running.fetch_sub(1, std::memory_order_acq_rel);
    }
  }

  const int threads;
  bool may_spin = true;
  std::vector<int> processors;  // that this process may use
  std::vector<std::thread> workers;
  std::mutex mutex;
  std::condition_variable wake;
  int parked = 0;  // under mutex
  std::atomic<bool> stop = false;
  std::atomic<uint64_t> generation = 0;
  std::atomic<int> running = 0;
  const Body* body = nullptr;
  int64_t extent = 0;
};

ThreadPool::ThreadPool(int threads) : impl_(std::make_unique<Impl>(threads)) {}
ThreadPool::~ThreadPool() = default;
int ThreadPool::threads() const { return impl_->threads; }

ThreadPool::CallerPin::CallerPin(const ThreadPool& pool) {
  if (pool.threads() == 1 || !pool.impl_->may_spin || pool.impl_->processors.empty()) return;
  // The system calls of pinning take 3 microseconds and more: not where the caller runs apart from all workers anyway.
  const std::vector<int>& processors = pool.impl_->processors;
  const auto first_worker = processors.end() - (pool.threads() - 1);
  if (std::find(first_worker, processors.end(), sched_getcpu()) == processors.end()) return;
  processors_ = AllowedProcessors();
  Pin(pthread_self(), {pool.impl_->processors[0]});
}

ThreadPool::CallerPin::~CallerPin() {
  if (!processors_.empty()) Pin(pthread_self(), processors_);
}

void ThreadPool::ParallelFor(int64_t extent, const std::function<void(int, int64_t, int64_t)>& body) {
  if (extent <= 0) return;
  if (extent == 1 || impl_->threads == 1) {
    body(0, 0, extent);
    return;
  }
  impl_->body = &body;
  impl_->extent = extent;
  impl_->running.store(impl_->threads - 1, std::memory_order_relaxed);
  bool anyone_parked;
  {
    // Parking checks the generation under the same lock, so no worker misses it.
    std::lock_guard<std::mutex> lock(impl_->mutex);
    impl_->generation.fetch_add(1, std::memory_order_release);
    anyone_parked = impl_->parked > 0;
  }
  if (anyone_parked) impl_->wake.notify_all();
  impl_->Run(0);
  int spin = 0;
  while (impl_->running.load(std::memory_order_acquire) > 0) {
    if (impl_->may_spin && ++spin < kSpins) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

}  // namespace smelt::runtime
