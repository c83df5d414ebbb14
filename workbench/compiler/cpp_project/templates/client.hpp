// A thread-safe client of one compiled model of an AOTInductor package.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <memory>
#include <stdexcept>
#include <string>
#include <unordered_map>
#include <vector>

namespace $namespace {

// Everything that goes wrong; the message says what, and what to do.
class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Inputs or weights that are not what the model was compiled for; lists all that does not fit.
class ContractError : public Error {
 public:
  using Error::Error;
};

struct Options {
  std::size_t runners = 1;             // calls that run at the same time; more of them queue
  bool check = true;                   // without it wrong inputs give wrong results, or a crash
  c10::DeviceIndex device_index = -1;  // which GPU; -1 is the current one
};

using Weights = std::unordered_map<std::string, at::Tensor>;

class Client {
 public:
  // Loads the model. Throws Error: no such file, not the package that this program was written
  // for, another release of torch, a processor that lacks what the kernels use.
  explicit Client(const std::filesystem::path& package, Options options = {});
  ~Client();
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  // Runs the model; any thread may call it at any time. The inputs are those of kInputs in
  // contract.hpp, in that order. Throws ContractError before anything runs. The outputs are
  // inference tensors: clone() one that autograd is to see.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& inputs) const;

  // Exchanges the named weights (kWeights in contract.hpp lists the names) for copies of these; a
  // call sees either all the old weights or all the new ones. Throws ContractError for other names,
  // shapes or dtypes, and then nothing changes.
  void update_weights(const Weights& weights);

 private:
  struct Model;
  std::unique_ptr<Model> model_;
};

}  // namespace $namespace
