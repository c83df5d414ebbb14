#include "tensors.hpp"

#include <c10/util/StringUtil.h>
#include <torch/csrc/jit/serialization/pickle.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <limits>

#include "contract.hpp"

namespace $namespace {

namespace {

c10::IValue read(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    throw Error(c10::str(file.string(), ": there is no such file, or it cannot be read"));
  }
  const std::vector<char> content{std::istreambuf_iterator<char>(stream), {}};
  try {
    return torch::jit::pickle_load(content);
  } catch (const c10::Error&) {
    throw Error(c10::str(file.string(), " is not a file of torch.save, or damaged"));
  }
}

}  // namespace

std::vector<at::Tensor> read_tensors(const std::filesystem::path& file) {
  const auto content = read(file);
  std::vector<at::Tensor> found;
  for (const c10::IValue& element :
       content.isList() ? content.toListRef() : at::ArrayRef<c10::IValue>()) {
    if (element.isNone() || element.isTensor()) {
      found.push_back(element.isNone() ? at::Tensor() : element.toTensor());
    }
  }
  if (!content.isList() || found.size() != content.toListRef().size()) {
    throw Error(c10::str(file.string(), " holds no list of tensors"));
  }
  return found;
}

Weights read_weights(const std::filesystem::path& file) {
  const auto content = read(file);
  Weights found;
  if (content.isGenericDict()) {
    for (const auto& entry : content.toGenericDict()) {
      if (entry.key().isString() && entry.value().isTensor()) {
        found.emplace(entry.key().toStringRef(), entry.value().toTensor());
      }
    }
  }
  if (found.empty()) {
    throw Error(c10::str(file.string(),
                         " holds no weights: torch.save(dict(model.state_dict()), "
                         "file) in Python writes them"));
  }
  return found;
}

std::vector<at::Tensor> read_inputs(const std::filesystem::path& file) {
  auto found = read_tensors(file);
  for (auto& tensor : found) {
    tensor = tensor.to(kDevice);
  }
  return found;
}

double largest_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  constexpr auto other = std::numeric_limits<double>::infinity();
  if (a.size() != b.size()) {
    return other;
  }
  double largest = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    if (!a[i].defined() && !b[i].defined()) {
      continue;  // None in Python
    }
    if (!a[i].defined() || !b[i].defined() || a[i].sizes() != b[i].sizes() ||
        a[i].scalar_type() != b[i].scalar_type()) {
      return other;
    }
    if (a[i].equal(b[i])) {
      continue;
    }
    const auto x = a[i].cpu().to(at::kDouble);
    const auto y = b[i].cpu().to(at::kDouble);
    const auto same = x.eq(y).logical_or(x.isnan().logical_and(y.isnan()));
    const auto difference = x.sub(y).abs().masked_fill(same, 0).nan_to_num(other, other);
    largest =
        difference.numel() == 0 ? largest : std::max(largest, difference.max().item<double>());
  }
  return largest;
}

}  // namespace $namespace
