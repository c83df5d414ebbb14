// Tensors in files, as torch.save writes them.
#pragma once

#include <ATen/core/Tensor.h>

#include <filesystem>
#include <vector>

#include "client.hpp"

namespace $namespace {

// A list of tensors. Throws Error for a file that is missing or holds anything else.
std::vector<at::Tensor> read_tensors(const std::filesystem::path& file);

// The same, on the model's device.
std::vector<at::Tensor> read_inputs(const std::filesystem::path& file);

// A dict of tensors by name. Throws Error for a file that is missing or holds anything else.
Weights read_weights(const std::filesystem::path& file);

// The largest absolute difference of any element; infinite for other shapes, dtypes or counts.
double largest_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b);

}  // namespace $namespace
