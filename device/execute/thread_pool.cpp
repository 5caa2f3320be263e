#include "device/execute/thread_pool.h"

#include <pthread.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <system_error>

#include "device/base/errors.h"
#include "device/base/interruption.h"
#include "device/base/settings.h"

namespace neuron_sim {
namespace {

constexpr int kMaximumThreads = 256;
/// A thread's stack (8 MiB) and its thread-local storage, with room: where that storage cannot be
/// allocated, glibc ends the process.
constexpr size_t kMemoryOfAThread = 16 << 20;

int threads_from_environment() {
  const std::string value = setting("NEURON_SIM_THREADS");
  if (value.empty()) {
    return std::clamp(static_cast<int>(std::thread::hardware_concurrency()), 1, kMaximumThreads);
  }
  const auto threads = whole_number(value, 1, kMaximumThreads);
  if (threads) return static_cast<int>(*threads);
  fail(text("NEURON_SIM_THREADS is '", value, "'; it must be a number from 1 to ", kMaximumThreads,
            "."));
}

/// A pool and whether it is that of a process that this one was forked from.
struct Current {
  explicit Current(int threads) : pool(threads) {}
  ThreadPool pool;
  std::atomic<bool> of_parent{false};
};

// Without a lock, so that none can be held while a process forks. Never destroyed at exit: worker
// threads may outlive static destruction.
std::atomic<Current*> current{nullptr};

/// In a forked child, before fork() returns there: asking for the process in each launch would take
/// a system call.
void leave_to_parent() {
  Current* const now = current.load(std::memory_order_acquire);
  if (now != nullptr) now->of_parent.store(true, std::memory_order_release);
}

/// Whether the address space has room for one more thread.
bool has_room_for_thread() {
  void* const room = mmap(nullptr, kMemoryOfAThread, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED) return false;
  munmap(room, kMemoryOfAThread);
  return true;
}

}  // namespace

std::thread start_thread(std::function<void()> run) {
  try {
    if (has_room_for_thread()) {
      return std::thread([run = std::move(run)] {
        allocate_thread_storage();
        run();
      });
    }
  } catch (const std::system_error&) {
    // The host's limit of threads.
  }
  fail("the host starts no more threads.", ErrorKind::kRuntime);
}

ThreadPool::ThreadPool(int threads) { start(threads); }

ThreadPool::~ThreadPool() { stop(); }

void ThreadPool::start(int threads) {
  const uint64_t seen = generation_;  // no job is running, so none changes it
  try {
    workers_.reserve(static_cast<size_t>(threads - 1));  // no thread is lost for want of room
    for (int worker = 1; worker < threads; ++worker) {
      workers_.push_back(start_thread([this, worker, seen] { work(worker, seen); }));
    }
  } catch (const std::exception&) {
    // The host's limit; the bytes are the same with fewer.
  }
  threads_.store(static_cast<int>(workers_.size()) + 1, std::memory_order_relaxed);
}

void ThreadPool::stop() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  start_.notify_all();
  for (std::thread& worker : workers_) worker.join();
  workers_.clear();
  stopping_ = false;
}

void ThreadPool::resize(int threads) {
  const auto turn = interruptible_lock(turn_);
  if (threads == this->threads()) return;
  stop();
  start(threads);
  if (this->threads() == threads) return;
  fail(text("the host started ", this->threads(), " of ", threads, " host threads."),
       ErrorKind::kRuntime);
}

void ThreadPool::work(int worker, uint64_t seen) {
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
  const auto turn = interruptible_lock(turn_);
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
    job(0);
  } catch (...) {
    error = std::current_exception();
  }
  std::unique_lock lock(mutex_);
  done_.wait(lock, [&] { return running_ == 0; });
  if (!error) error = error_;
  if (error) std::rethrow_exception(error);
}

namespace {

/// The pool of this process, created with `threads` on first use (0: as the environment or
/// the parent process has it).
ThreadPool& current_pool(int threads) {
  static const int unregistered = pthread_atfork(nullptr, nullptr, leave_to_parent);
  require(unregistered == 0, "the C library takes a function that forked children call");
  Current* now = current.load(std::memory_order_acquire);
  while (now == nullptr || now->of_parent.load(std::memory_order_acquire)) {
    // A forked child has none of the parent's threads; its copy of the pool is left alone.
    const int otherwise = now == nullptr ? 0 : now->pool.threads();
    if (threads == 0) threads = otherwise > 0 ? otherwise : threads_from_environment();
    auto made = std::make_unique<Current>(threads);
    if (current.compare_exchange_strong(now, made.get(), std::memory_order_acq_rel)) {
      now = made.release();
    }
  }
  return now->pool;
}

}  // namespace

ThreadPool& thread_pool() { return current_pool(0); }

void set_host_threads(int threads) {
  if (threads < 1 || threads > kMaximumThreads) {
    fail(text("host threads must be 1 to ", kMaximumThreads, ", not ", threads, "."));
  }
  current_pool(threads).resize(threads);
}

}  // namespace neuron_sim
