#pragma once
// The host threads of the executor. One pool per process.

#include <atomic>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#include "device/base/condition_variable.h"

namespace neuron_sim {

/// A thread that runs `run`, which throws nothing. KernelError(kRuntime) where the host has no room
/// for its stack, or starts no more.
std::thread start_thread(std::function<void()> run);

/// Threads that run one job together with the caller.
class ThreadPool {
 public:
  /// `threads` counts the caller: 1 means no worker threads. Fewer when the host starts no more.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return threads_.load(std::memory_order_relaxed); }
  /// Runs `job(worker)` on all threads, worker 0 on the caller; returns when all have returned.
  /// The first exception is rethrown. Concurrent callers take turns; the wait for one's turn can be
  /// interrupted.
  void run(const std::function<void(int worker)>& job);
  /// Changes the number of threads from the next job on: waits, like a job, for those that run.
  /// KernelError(kRuntime) when the host starts fewer; the pool works with those.
  void resize(int threads);

 private:
  void start(int threads);
  void stop();
  void work(int worker, uint64_t seen);

  std::timed_mutex turn_;  ///< held for a job or a change of size
  std::vector<std::thread> workers_;
  std::atomic<int> threads_{1};
  std::mutex mutex_;
  std::condition_variable start_, done_;
  const std::function<void(int)>* job_ = nullptr;
  uint64_t generation_ = 0;
  int running_ = 0;
  bool stopping_ = false;
  std::exception_ptr error_;
};

/// The pool of this process: NEURON_SIM_THREADS threads, else one per hardware thread. A forked
/// child gets a new pool at its first use.
ThreadPool& thread_pool();
/// Changes the pool's size (1 to 256; KernelError otherwise), between two jobs when kernels run.
void set_host_threads(int threads);

}  // namespace neuron_sim
