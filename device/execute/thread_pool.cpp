#include "device/execute/thread_pool.h"

#include <omp.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>

#include "device/base/errors.h"

namespace neuron_sim {
namespace {

constexpr int kMaximumThreads = 256;

int threads_from_environment() {
  const char* value = std::getenv("NEURON_SIM_THREADS");
  if (value == nullptr || *value == '\0') {
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaximumThreads);
  }
  char* end = nullptr;
  const long threads = std::strtol(value, &end, 10);
  if (*end != '\0' || threads < 1 || threads > kMaximumThreads) {
    fail(text("NEURON_SIM_THREADS is '", value, "'; it must be a number from 1 to ",
              kMaximumThreads, "."));
  }
  return static_cast<int>(threads);
}

/// A pool and the process it works in.
struct Current {
  explicit Current(int threads) : pool(threads), process(getpid()) {}
  ThreadPool pool;
  pid_t process;
};

// Without a lock, so that none can be held while a process forks. Never destroyed at exit: worker
// threads may outlive static destruction.
std::atomic<Current*> current{nullptr};

}  // namespace

SingleOpenMpThread::SingleOpenMpThread() : before_(omp_get_max_threads()) {
  if (before_ != 1) omp_set_num_threads(1);
}

SingleOpenMpThread::~SingleOpenMpThread() {
  if (before_ != 1) omp_set_num_threads(before_);
}

ThreadPool::ThreadPool(int threads) {
  for (int worker = 1; worker < threads; ++worker) {
    workers_.emplace_back([this, worker] { work(worker); });
  }
}

ThreadPool::~ThreadPool() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
}

void ThreadPool::work(int worker) {
  omp_set_num_threads(1);
  uint64_t seen = 0;
  std::unique_lock lock(mutex_);
  while (true) {
    start_.wait(lock, [&] { return stopping_ || generation_ != seen; });
    if (stopping_) return;
    seen = generation_;
    const auto* job = job_;
    lock.unlock();
    std::exception_ptr error;
    try {
      (*job)(worker);
    } catch (...) {
      error = std::current_exception();
    }
    lock.lock();
    if (error && !error_) error_ = error;
    if (--running_ == 0) done_.notify_all();
  }
}

void ThreadPool::run(const std::function<void(int)>& job) {
  const std::lock_guard turn(turn_);
  {
    const std::lock_guard lock(mutex_);
    job_ = &job;
    running_ = static_cast<int>(workers_.size());
    error_ = nullptr;
    ++generation_;
  }
  start_.notify_all();
  std::exception_ptr error;
  try {
    const SingleOpenMpThread single;
    job(0);
  } catch (...) {
    error = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return running_ == 0; });
  if (!error) error = error_;
  if (error) std::rethrow_exception(error);
}

ThreadPool& thread_pool() {
  Current* now = current.load(std::memory_order_acquire);
  while (now == nullptr || now->process != getpid()) {
    // A forked child has none of the parent's threads; its copy of the pool is left alone.
    auto made = std::make_unique<Current>(now == nullptr ? threads_from_environment()
                                                         : now->pool.threads());
    if (current.compare_exchange_strong(now, made.get(), std::memory_order_acq_rel)) {
      now = made.release();
    }
  }
  return now->pool;
}

void set_host_threads(int threads) {
  if (threads < 1 || threads > kMaximumThreads) {
    fail(text("host threads must be 1 to ", kMaximumThreads, ", not ", threads, "."));
  }
  Current* before = current.exchange(new Current(threads), std::memory_order_acq_rel);
  if (before != nullptr && before->process == getpid()) delete before;
}

}  // namespace neuron_sim
