// What a model takes, as data, and the check of a call against it.
#pragma once

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <vector>

namespace $namespace {

// A size of an input: `fixed`, or scale * (the dimension named `dim`) + offset with that dimension
// in [min, max]. Every size that uses the same dimension has to give it the same value. A size
// without a number and a name may be anything.
struct Size {
  std::int64_t fixed = -1;
  std::string_view dim = "";
  std::int64_t min = 0;
  std::int64_t max = std::numeric_limits<std::int64_t>::max();
  std::int64_t scale = 1;
  std::int64_t offset = 0;
};

// One input. `order` lists its dimensions from the outermost to the innermost in memory, without
// gaps: {0, 1, 2} is contiguous. Where it is empty, the strides have to be `strides`.
struct InputSpec {
  std::string_view name;
  at::ScalarType dtype;
  at::DeviceType device;
  std::vector<Size> sizes;
  std::vector<std::int64_t> order;
  std::vector<std::int64_t> strides = {};
};

// What the values of several dimensions, in the order of `dims`, have to fulfil.
struct Relation {
  std::string_view text;
  std::vector<std::string_view> dims;
  bool (*holds)(const std::vector<std::int64_t>& values);
};

// Division and remainder as Python has them, for relations.
std::int64_t floor_div(std::int64_t a, std::int64_t b);
std::int64_t floor_mod(std::int64_t a, std::int64_t b);

// A sentence for everything that does not fit; empty for inputs that the model takes.
std::vector<std::string> problems(const std::vector<InputSpec>& specs,
                                  const std::vector<Relation>& relations,
                                  const std::vector<at::Tensor>& inputs);

}  // namespace $namespace
