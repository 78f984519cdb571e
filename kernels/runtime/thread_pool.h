// Workers behind one call: ParallelFor runs pieces of [0, extent) on the pool and the calling thread and returns when
// all are done.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>

namespace smelt::kernels::runtime {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // the caller counts as one; 1 starts none
  ~ThreadPool();
  int threads() const;
  // body(worker, begin, end); worker in [0, threads). One fork and join, none when extent is 1 or the pool has one
  // thread. Workers spin briefly, then park.
  void ParallelFor(int64_t extent, const std::function<void(int worker, int64_t begin, int64_t end)>& body);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smelt::kernels::runtime
