#pragma once
// The host threads of the executor. One pool per process.

#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

namespace neuron_sim {

/// Threads that run one job together with the caller. Every worker limits OpenMP to one thread
/// (oneDNN calls are parallel across instructions, never inside one).
class ThreadPool {
 public:
  /// `threads` counts the caller: 1 means no worker threads.
  explicit ThreadPool(int threads);
  ~ThreadPool();
  ThreadPool(const ThreadPool&) = delete;
  ThreadPool& operator=(const ThreadPool&) = delete;

  int threads() const { return static_cast<int>(workers_.size()) + 1; }
  /// Runs `job(worker)` on all threads, worker 0 on the caller; returns when all have returned.
  /// The first exception is rethrown. Concurrent callers take turns.
  void run(const std::function<void(int worker)>& job);

 private:
  void work(int worker);

  std::vector<std::thread> workers_;
  std::mutex turn_, mutex_;
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
/// Replaces the pool's size (1 to 256); KernelError otherwise. Not while a kernel runs.
void set_host_threads(int threads);

/// Limits OpenMP to one thread in the calling thread while it lives, then restores its setting.
class SingleOpenMpThread {
 public:
  SingleOpenMpThread();
  ~SingleOpenMpThread();
  SingleOpenMpThread(const SingleOpenMpThread&) = delete;
  SingleOpenMpThread& operator=(const SingleOpenMpThread&) = delete;

 private:
  int before_;
};

}  // namespace neuron_sim
