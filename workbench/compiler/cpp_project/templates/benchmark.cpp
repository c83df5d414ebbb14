// Many threads that send requests to one client: latencies, throughput, and whether every answer
// was the same.
#include <ATen/Parallel.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <iomanip>
#include <iostream>
#include <map>
#include <mutex>
#include <thread>

#include "client.hpp"
#include "tensors.hpp"

namespace {

using namespace $namespace;
using Clock = std::chrono::steady_clock;
using Milliseconds = std::chrono::duration<double, std::milli>;

constexpr auto kUsage =
    "usage: benchmark PACKAGE [--runners N] [--threads N] [--requests M] [--intra-op K]\n"
    "                 [--inputs FILE] [--weights FILE]\n"
    "  --runners   calls that run at the same time (2)\n"
    "  --threads   threads that send requests (2)\n"
    "  --requests  requests of each thread (1000)\n"
    "  --intra-op  threads of one of torch's own operators (1)\n"
    "  --inputs    a list of tensors by torch.save (example_inputs.pt)\n"
    "  --weights   a dict of tensors by torch.save (those in the package)\n";

struct Settings {
  std::string package;
  std::map<std::string, std::string> files = {{"--inputs", "example_inputs.pt"}, {"--weights", ""}};
  std::map<std::string, int> numbers = {
      {"--runners", 2}, {"--threads", 2}, {"--requests", 1000}, {"--intra-op", 1}};
};

Settings settings(const std::vector<std::string>& words) {
  Settings found;
  for (std::size_t i = 0; i < words.size(); ++i) {
    if (!words[i].starts_with("--") && found.package.empty()) {
      found.package = words[i];
      continue;
    }
    const auto number = found.numbers.find(words[i]);
    const auto file = found.files.find(words[i]);
    const bool known = number != found.numbers.end() || file != found.files.end();
    if (!known || ++i == words.size()) {
      throw Error(kUsage);
    }
    if (file != found.files.end()) {
      file->second = words[i];
      continue;
    }
    const auto* end = words[i].data() + words[i].size();
    const auto [rest, error] = std::from_chars(words[i].data(), end, number->second);
    if (error != std::errc() || rest != end || number->second < 1) {
      throw Error(kUsage);
    }
  }
  if (found.package.empty()) {
    throw Error(kUsage);
  }
  return found;
}

struct Result {
  std::vector<double> latencies;  // milliseconds, sorted
  double seconds = 0;
  int different = 0;  // answers that were not those of the first call
  int failed = 0;
  std::string error;
};

class Load {
 public:
  Load(const Client& client, std::vector<at::Tensor> inputs, int intra_op)
      : client_(client),
        inputs_(std::move(inputs)),
        expected_(client_.run(inputs_)),
        intra_op_(intra_op) {}

  Result run(int threads, int requests) {
    const auto start = Clock::now();
    {
      std::vector<std::jthread> workers;
      for (int i = 0; i < threads; ++i) {
        workers.emplace_back([this, requests] { work(requests); });
      }
    }
    result_.seconds = std::chrono::duration<double>(Clock::now() - start).count();
    std::sort(result_.latencies.begin(), result_.latencies.end());
    return result_;
  }

 private:
  void work(int requests) {
    at::set_num_threads(intra_op_);  // each thread has its own
    Result mine;
    for (int i = 0; i < requests; ++i) {
      try {
        const auto start = Clock::now();
        const auto outputs = client_.run(inputs_);
        mine.latencies.push_back(Milliseconds(Clock::now() - start).count());
        mine.different += largest_difference(outputs, expected_) == 0 ? 0 : 1;
      } catch (const Error& error) {
        ++mine.failed;
        mine.error = error.what();
      }
    }
    const std::scoped_lock lock(mutex_);
    result_.latencies.insert(result_.latencies.end(), mine.latencies.begin(), mine.latencies.end());
    result_.different += mine.different;
    result_.failed += mine.failed;
    if (!mine.error.empty()) {
      result_.error = mine.error;
    }
  }

  const Client& client_;
  const std::vector<at::Tensor> inputs_;
  const std::vector<at::Tensor> expected_;
  const int intra_op_;
  std::mutex mutex_;
  Result result_;
};

double percentile(const std::vector<double>& sorted, double part) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<std::size_t>(part * last + 0.5)];
}

void print(const Result& result) {
  const auto& times = result.latencies;
  std::cout << std::fixed << std::setprecision(3);
  std::cout << "answered:   " << times.size() << " requests in " << result.seconds << " s\n";
  if (!times.empty()) {
    std::cout << "throughput: " << static_cast<double>(times.size()) / result.seconds
              << " requests/s\n"
              << "latency ms: p50 " << percentile(times, 0.5) << "  p90 " << percentile(times, 0.9)
              << "  p99 " << percentile(times, 0.99) << "  max " << times.back() << '\n';
  }
  std::cout << "different:  " << result.different << "\nfailed:     " << result.failed << '\n';
}

}  // namespace

int main(int argc, char** argv) try {
  const auto given = settings({argv + 1, argv + argc});
  const int intra_op = given.numbers.at("--intra-op");
  at::set_num_threads(intra_op);
  const auto runners = static_cast<std::size_t>(given.numbers.at("--runners"));
  Client client(given.package, {.runners = runners});
  if (!given.files.at("--weights").empty()) {
    client.update_weights(read_weights(given.files.at("--weights")));
  }
  Load load(client, read_inputs(given.files.at("--inputs")), intra_op);
  const auto result = load.run(given.numbers.at("--threads"), given.numbers.at("--requests"));
  print(result);
  if (!result.error.empty()) {
    std::cerr << "error: " << result.error << '\n';
  }
  return result.failed + result.different == 0 ? 0 : 1;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
