// One process with one client: when it was loaded and had its first result, what later calls take,
// and the most memory that it had resident; as JSON, times in seconds of the steady clock.
#include <c10/util/StringUtil.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <chrono>
#include <fstream>
#include <iomanip>
#include <iostream>
#include <limits>
#include <string>

#include "client.hpp"
#include "tensors.hpp"

namespace {

using namespace $namespace;

constexpr auto kUsage = "usage: latency PACKAGE INPUTS RESULTS CALLS WARM_CALLS SECONDS [WEIGHTS]\n";

double now() {
  const auto time = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(time).count();
}

// VmHWM, in bytes; null where nothing counts it.
std::string peak_memory() {
  std::ifstream file("/proc/self/status");
  std::string word;
  while (file >> word) {
    if (word == "VmHWM:" && file >> word) {
      return c10::str(std::stoll(word) * 1024);
    }
  }
  return "null";
}

c10::IValue list_of(const std::vector<at::Tensor>& tensors) {
  c10::List<c10::IValue> found(c10::AnyType::get());
  for (const auto& tensor : tensors) {
    found.push_back(tensor.defined() ? c10::IValue(tensor.cpu().contiguous()) : c10::IValue());
  }
  return found;
}

void write(const std::string& file, const std::vector<at::Tensor>& outputs,
           const std::vector<at::Tensor>& inputs) {
  const auto content = torch::jit::pickle_save(
      c10::ivalue::Tuple::create({list_of(outputs), list_of(inputs)}));
  std::ofstream stream(file, std::ios::binary);
  stream.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!stream.flush()) {
    throw Error(file + " cannot be written");
  }
}

constexpr int kLeast = 4;  // calls, however long they take

// Seconds of up to `count` calls, which end when `longest` has passed.
std::vector<double> timed(const Client& client, const std::vector<at::Tensor>& inputs, int count,
                          double longest) {
  std::vector<double> found;
  const double end = now() + longest;
  for (int i = 0; i < count && (i < kLeast || now() < end); ++i) {
    const double start = now();
    client.run(inputs);
    found.push_back(now() - start);
  }
  return found;
}

}  // namespace

int main(int argc, char** argv) try {
  const double started = now();
  if (argc < 7) {
    std::cerr << kUsage;
    return 2;
  }
  const int calls = std::stoi(argv[4]);
  const int warm_calls = std::stoi(argv[5]);
  const double longest = std::stod(argv[6]);
  const auto inputs = read_inputs(argv[2]);
  const double given = now();
  Client client(argv[1]);
  if (argc > 7) {
    client.update_weights(read_weights(argv[7]));
  }
  const double loaded = now();
  const auto outputs = client.run(inputs);
  const double first = now();
  write(argv[3], outputs, inputs);
  const auto again = read_inputs(argv[2]);
  timed(client, again, warm_calls, longest);
  const auto times = timed(client, again, calls, longest);
  std::cout << std::setprecision(std::numeric_limits<double>::max_digits10) << "{\"started\": "
            << started << ", \"inputs\": " << given << ", \"loaded\": " << loaded
            << ", \"first_result\": " << first << ", \"peak_rss_bytes\": " << peak_memory()
            << ", \"calls_s\": [" << c10::Join(", ", times) << "]}\n";
  return 0;
} catch (const std::exception& error) {
  std::cerr << "error: " << error.what() << '\n';
  return 1;
}
