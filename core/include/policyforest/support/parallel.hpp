// Independent pieces of work, shared among several threads.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

namespace policyforest {

// Calls make_worker() once in each thread, and one of the workers for each piece, with its number. After an exception
// no more pieces are started, and the first exception is thrown again here.
template <class MakeWorker>
void parallel_for(std::size_t n_pieces, std::size_t n_threads, const MakeWorker& make_worker) {
  std::atomic<std::size_t> next{0};
  std::exception_ptr error;
  std::mutex error_mutex;
  const auto run = [&] {
    try {
      auto worker = make_worker();
      for (std::size_t i = next++; i < n_pieces; i = next++) worker(i);
    } catch (...) {
      next = n_pieces;
      const std::lock_guard lock(error_mutex);
      if (!error) error = std::current_exception();
    }
  };
  std::vector<std::thread> threads;
  for (std::size_t t = 1; t < std::min(n_threads, n_pieces); ++t) threads.emplace_back(run);
  run();
  for (auto& thread : threads) thread.join();
  if (error) std::rethrow_exception(error);
}

}  // namespace policyforest
