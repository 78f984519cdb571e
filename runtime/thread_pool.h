// Workers behind one call: ParallelFor runs pieces of [0, extent) on the pool and the calling thread and returns when
// all are done.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

namespace smelt::runtime {

class ThreadPool {
 public:
  explicit ThreadPool(int threads);  // the caller counts as one; 1 starts none
  ~ThreadPool();
  int threads() const;
  // body(worker, begin, end); worker in [0, threads). One fork and join, none when extent is 1 or the pool has one
  // thread. Workers spin briefly, then park.
  void ParallelFor(int64_t extent, const std::function<void(int worker, int64_t begin, int64_t end)>& body);

  // Keeps the calling thread on a processor that no worker has while many calls follow each other: a caller that shares
  // one with a spinning worker loses whole slices of the scheduler. Does nothing for a pool of one thread, with more
  // threads than processors, or where the caller is on such a processor already. The thread's own mask comes back with
  // the destructor.
  class CallerPin {
   public:
    explicit CallerPin(const ThreadPool& pool);
    ~CallerPin();
    CallerPin(const CallerPin&) = delete;
    CallerPin& operator=(const CallerPin&) = delete;

   private:
    std::vector<int> processors_;  // to go back to; empty: not pinned
  };

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace smelt::runtime
