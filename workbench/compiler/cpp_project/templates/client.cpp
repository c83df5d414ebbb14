#include "client.hpp"

#include <ATen/MapAllocator.h>
#include <ATen/ops/empty_strided.h>
#include <ATen/ops/from_blob.h>
#include <c10/core/InferenceMode.h>
#include <c10/util/StringUtil.h>
#include <caffe2/serialize/inline_container.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>
#include <torch/version.h>

#include <algorithm>
#include <atomic>
#include <fstream>
#include <iterator>
#include <mutex>
#include <sstream>

#include "contract.hpp"
#include "slots.hpp"

namespace $namespace {
namespace {

using caffe2::serialize::PyTorchStreamReader;
using torch::inductor::AOTIModelPackageLoader;
using torch::inductor::TensorConstantMap;

// Runs `work`; what torch throws becomes an Error without a stack trace.
template <typename Work>
auto translated(const std::string& doing, Work work) {
  try {
    return work();
  } catch (const Error&) {
    throw;
  } catch (const c10::Error& error) {
    throw Error(c10::str(doing, ": ", error.what_without_backtrace()));
  } catch (const std::exception& error) {
    throw Error(c10::str(doing, ": ", error.what()));
  }
}

std::string joined(const std::string& title, const std::vector<std::string>& problems) {
  std::string text = title;
  for (const auto& problem : problems) {
    text += "\n  - " + problem;
  }
  return text;
}

void refuse(const std::string& title, const std::vector<std::string>& problems) {
  if (!problems.empty()) {
    throw ContractError(joined(title, problems));
  }
}

// The value of a text field of the manifest, searched from the first occurrence of `part` on.
std::string manifest_text(PyTorchStreamReader& package, const std::string& part,
                          const std::string& field) {
  const auto [data, size] = package.getRecord(kManifest);
  const std::string_view manifest(static_cast<const char*>(data.get()), size);
  const auto key = "\"" + field + "\": \"";
  const auto start = manifest.find(key, manifest.find("\"" + part + "\":"));
  if (start == std::string_view::npos) {
    return "";
  }
  const auto value = manifest.substr(start + key.size());
  return std::string(value.substr(0, value.find('"')));
}

// 2.13 of 2.13.0+cpu: releases of torch that share the interface of compiled models.
std::string release(const std::string& version) {
  return version.substr(0, version.find('.', version.find('.') + 1));
}

void check_package(const std::filesystem::path& file) {
  if (!std::filesystem::is_regular_file(file)) {
    throw Error(c10::str(file.string(), ": there is no such file"));
  }
  std::unique_ptr<PyTorchStreamReader> package;
  try {
    package = std::make_unique<PyTorchStreamReader>(file.string());
  } catch (const c10::Error&) {
    throw Error(c10::str(file.string(), " is not a .pt2 package, or damaged: get the file again"));
  }
  if (!package->hasRecord(kManifest) || !package->hasRecord(kLibrary)) {
    throw Error(c10::str(file.string(), " is not the package that this program was written for (",
                         kPackageName, " with ", kLibrary,
                         "): write the project again from this package"));
  }
  const auto torch = manifest_text(*package, "versions", "torch");
  if (release(torch) != release(TORCH_VERSION)) {
    throw Error(c10::str(file.string(), " was compiled with torch ", torch,
                         ", this program was built with torch ", TORCH_VERSION,
                         ": compile the package again, or build against torch ", release(torch)));
  }
}

void check_processor() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line) && !line.starts_with("flags")) {
  }
  if (!line.starts_with("flags")) {
    return;  // another system or architecture: nothing to compare with
  }
  std::istringstream words(line);
  const std::vector<std::string> flags{std::istream_iterator<std::string>(words), {}};
  std::vector<std::string> missing;
  for (const auto& flag : kProcessorFlags) {
    if (std::find(flags.begin(), flags.end(), flag) == flags.end()) {
      missing.emplace_back(flag);
    }
  }
  if (!missing.empty()) {
    throw Error(
        joined("This processor lacks what the kernels use: compile the package on it, or "
               "for a smaller instruction set.",
               missing));
  }
}

// Tensors in the order of kWeights, where the library expects each.
using Constants = std::vector<at::Tensor>;

// The weights in a package, mapped: nothing of them is read before it is used. Undefined tensors
// stand for those that come later.
Constants mapped_weights(const std::filesystem::path& file) {
  PyTorchStreamReader package(file.string());
  const auto content = std::make_shared<at::DataPtr>(at::MapAllocator::makeDataPtr(
      file.string(), /*flags=*/0, std::filesystem::file_size(file), nullptr));
  Constants found;
  for (const auto& spec : kWeights) {
    if (spec.member.empty()) {
      found.emplace_back();
      continue;
    }
    const auto offset = package.getRecordOffset(std::string(spec.member)) + spec.offset;
    auto* start = static_cast<char*>(content->get()) + offset;
    const auto keep = [content](void*) {};
    const auto tensor = at::from_blob(start, spec.shape, spec.stride, keep, spec.dtype);
    found.push_back(tensor.to(kDevice));  // mapped memory itself where that is the CPU
  }
  return found;
}

// A copy of a given weight as the library holds it; what does not fit is added to `found`.
at::Tensor copied(const WeightSpec& spec, const at::Tensor& tensor, c10::Device device,
                  std::vector<std::string>& found) {
  if (tensor.sizes() != at::IntArrayRef(spec.shape) || tensor.scalar_type() != spec.dtype) {
    found.push_back(c10::str(spec.fqn, ": expected ", c10::getDtypeNames(spec.dtype).first, " ",
                             at::IntArrayRef(spec.shape), ", got ",
                             c10::getDtypeNames(tensor.scalar_type()).first, " ", tensor.sizes()));
    return {};
  }
  const auto options = at::dtype(spec.dtype).device(device);
  return at::empty_strided(spec.shape, spec.stride, options).copy_(tensor);
}

bool is_named(const WeightSpec& spec, const std::string& fqn) {
  return spec.fqn == fqn || std::count(spec.aliases.begin(), spec.aliases.end(), fqn) > 0;
}

}  // namespace

struct Client::Model {
  Model(const std::filesystem::path& package, Options given)
      : options(given),
        loader(package.string(), kModel, /*run_single_threaded=*/false, given.runners,
               given.device_index),
        slots(given.runners) {}

  // The weights of now; undefined tensors where the package has none and none were given.
  Constants current() {
    if (kStored != Stored::kInside || !active.empty()) {
      return active;
    }
    const auto inside = loader.get_runner()->extract_constants_map(/*use_inactive=*/false);
    Constants found;
    for (const auto& spec : kWeights) {
      const auto weight = inside.find(std::string(spec.fqn));
      found.push_back(weight == inside.end() ? at::Tensor() : weight->second);
    }
    return found;
  }

  // Makes `constants` the weights of all later calls, after the last call with the old ones.
  void use(Constants constants) {
    TensorConstantMap by_name;
    for (std::size_t i = 0; i < kWeights.size(); ++i) {
      by_name.emplace(kWeights[i].name, &constants[i]);
    }
    auto& runner = *loader.get_runner();
    runner.update_constant_buffer(by_name, /*use_inactive=*/true, /*validate_full_updates=*/true,
                                  /*user_managed=*/true);
    const SlotLock no_calls(slots, options.runners);
    runner.swap_constant_buffer();
    active = std::move(constants);  // moves the vector, not its tensors: their places stay
    has_weights = true;
  }

  const Options options;
  Constants active;  // what the library uses but does not own
  AOTIModelPackageLoader loader;
  Slots slots;  // run() takes one, an exchange of weights all
  std::mutex updating;
  std::atomic<bool> has_weights = kStored == Stored::kInside;
};

Client::Client(const std::filesystem::path& package, Options options) {
  if (options.runners < 1) {
    throw Error("runners has to be 1 or more");
  }
  if (kWritesBuffers) {
    options.runners = 1;  // all runners would write into the same buffers
  }
  translated(package.string() + " cannot be loaded", [&] {
    check_package(package);
    check_processor();
    model_ = std::make_unique<Model>(package, options);
    if (kStored != Stored::kInside) {
      model_->active = mapped_weights(package);
      const auto is_there = [](const at::Tensor& tensor) { return tensor.defined(); };
      if (std::all_of(model_->active.begin(), model_->active.end(), is_there)) {
        model_->use(model_->active);
      }
    }
  });
}

Client::~Client() = default;

std::vector<at::Tensor> Client::run(const std::vector<at::Tensor>& inputs) const {
  return translated("The model failed", [&] {
    if (model_->options.check) {
      refuse("The inputs do not fit what was compiled:", problems(kInputs, kRelations, inputs));
    }
    if (!model_->has_weights) {
      throw Error("The package holds no weights: call update_weights before the first run.");
    }
    const c10::InferenceMode inference;
    const SlotLock slot(model_->slots, 1);
    return model_->loader.run(inputs);
  });
}

void Client::update_weights(const Weights& weights) {
  const c10::InferenceMode inference;
  const std::scoped_lock one_update(model_->updating);
  translated("The weights cannot be exchanged", [&] {
    const c10::Device device(kDevice, model_->options.device_index);
    auto constants = model_->current();
    std::vector<std::string> found;
    for (const auto& [name, tensor] : weights) {
      bool is_known = false;
      for (std::size_t i = 0; i < kWeights.size(); ++i) {
        if (is_named(kWeights[i], name)) {
          is_known = true;
          constants[i] = copied(kWeights[i], tensor, device, found);
        }
      }
      if (!is_known) {
        found.push_back(name + ": the model has no such weight");
      }
    }
    for (std::size_t i = 0; found.empty() && i < kWeights.size(); ++i) {
      if (!constants[i].defined()) {
        found.push_back(c10::str(kWeights[i].fqn, ": it is missing, and the package has none"));
      }
    }
    refuse("The weights do not fit what was compiled:", found);
    model_->use(std::move(constants));
  });
}

}  // namespace $namespace
