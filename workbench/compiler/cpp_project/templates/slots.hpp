// The queue in front of the runners.
#pragma once

#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>

namespace $namespace {

// One place per runner. Whoever asks first is served first: a thread that gives its place back and
// asks again would otherwise often be the next, and those that sleep would wait long.
class Slots {
 public:
  explicit Slots(std::size_t count) : free_(count) {}

  void acquire(std::size_t count) {
    std::unique_lock lock(mutex_);
    if (waiting_.empty() && count <= free_) {
      free_ -= count;
      return;
    }
    Waiter me{count};
    waiting_.push_back(&me);
    me.turn.wait(lock, [&me] { return me.served; });
  }

  void release(std::size_t count) {
    const std::scoped_lock lock(mutex_);
    free_ += count;
    while (!waiting_.empty() && waiting_.front()->count <= free_) {
      auto& next = *waiting_.front();
      waiting_.pop_front();
      free_ -= next.count;
      next.served = true;
      next.turn.notify_one();  // it cannot go on, and away, before this lock is given up
    }
  }

 private:
  struct Waiter {
    std::size_t count;
    bool served = false;
    std::condition_variable turn{};
  };

  std::mutex mutex_;
  std::size_t free_;
  std::deque<Waiter*> waiting_;
};

// Holds `count` slots, waiting for them; gives them back at the end.
class SlotLock {
 public:
  SlotLock(Slots& slots, std::size_t count) : slots_(slots), count_(count) {
    slots_.acquire(count);
  }
  ~SlotLock() { slots_.release(count_); }
  SlotLock(const SlotLock&) = delete;
  SlotLock& operator=(const SlotLock&) = delete;

 private:
  Slots& slots_;
  std::size_t count_;
};

}  // namespace $namespace
