// What the model $model of $package takes and needs, written from the package's contract.
// Write the project again for another package instead of editing this file.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "input_check.hpp"

namespace $namespace {

struct WeightSpec {
  std::string_view name;  // in the compiled library
  std::string_view fqn;   // in the module
  std::vector<std::string_view> aliases = {};  // other names in the module of the same tensor
  at::ScalarType dtype;
  std::vector<std::int64_t> shape;
  std::vector<std::int64_t> stride;
  std::string_view member = "";  // of the package that holds it, and where in the member
  std::uint64_t offset = 0;
};

// Where the weights are: in the library, in other members of the package, or not in the package.
enum class Stored { kInside, kBeside, kLater };

inline constexpr auto kPackageName = $package_literal;
inline constexpr auto kModel = $model_literal;
inline constexpr auto kDevice = $device;
inline constexpr auto kManifest = $manifest;
inline constexpr auto kLibrary = $library;
inline constexpr auto kStored = $weights_kind;
inline constexpr bool kWritesBuffers = $writes_buffers;

// What the processor has to have, as /proc/cpuinfo names it.
inline constexpr std::array<std::string_view, $flag_count> kProcessorFlags = {$flags};

inline const std::vector<InputSpec> kInputs = {
$inputs};

// What torch.export assumed about the dimensions.
inline const std::vector<Relation> kRelations = {
$relations};

inline const std::vector<WeightSpec> kWeights = {
$weights};

}  // namespace $namespace
