#include "protocol.hpp"

#include <ATen/ops/tensor.h>
#include <c10/util/StringUtil.h>

#include <algorithm>
#include <array>
#include <string>

#include "client.hpp"
#include "contract.hpp"

namespace $namespace {
namespace {

using nlohmann::json;

struct Name {
  at::ScalarType dtype;
  std::string_view datatype;
};

constexpr std::array<Name, 12> kNames = {{
    {at::kBool, "BOOL"},
    {at::kByte, "UINT8"},
    {at::kUInt16, "UINT16"},
    {at::kUInt32, "UINT32"},
    {at::kChar, "INT8"},
    {at::kShort, "INT16"},
    {at::kInt, "INT32"},
    {at::kLong, "INT64"},
    {at::kHalf, "FP16"},
    {at::kFloat, "FP32"},
    {at::kDouble, "FP64"},
    {at::kBFloat16, "BF16"},
}};
constexpr std::size_t kDeepest = 64;  // lists within lists of data
constexpr std::size_t kDeepestForm = kDeepest + 8;
constexpr std::size_t kMostLists = 2'000'000;    // each takes about 80 bytes
constexpr std::size_t kMostValues = 16'000'000;  // each takes about 24 bytes until it is a tensor
constexpr std::size_t kShown = 80;               // characters of a text that an error quotes

struct OutputSpec {
  at::ScalarType dtype;  // Undefined for None
  std::vector<std::int64_t> shape;  // -1 for a size that varies
};

const std::vector<OutputSpec> kOutputs = {
$outputs};

std::string datatype_of(at::ScalarType dtype) {
  const auto* name = std::find_if(kNames.begin(), kNames.end(),
                                  [&](const Name& one) { return one.dtype == dtype; });
  if (name == kNames.end()) {
    throw Error(c10::str("The protocol has no name for tensors of ",
                         c10::getDtypeNames(dtype).first));
  }
  return std::string(name->datatype);
}

at::ScalarType dtype_of(const std::string& datatype) {
  const auto* name = std::find_if(kNames.begin(), kNames.end(),
                                  [&](const Name& one) { return one.datatype == datatype; });
  if (name == kNames.end()) {
    throw BadRequest("the datatype " + datatype.substr(0, kShown) + " is not known");
  }
  return name->dtype;
}

// A member of an object; `what` says which object it has to be in.
const json& member(const json& object, const char* name, const std::string& what) {
  if (!object.is_object() || !object.contains(name)) {
    throw BadRequest(what + " has no " + name);
  }
  return object[name];
}

bool fits(const json& value, at::ScalarType dtype) {
  if (dtype == at::kBool) {
    return value.is_boolean();
  }
  if (at::isFloatingType(dtype)) {
    return value.is_number();
  }
  return value.is_number_integer() &&
         (!value.is_number_unsigned() || value.get<std::uint64_t>() <= INT64_MAX);
}

// Adds the numbers of lists within lists.
template <typename Number>
void flatten(const json& data, at::ScalarType dtype, const std::string& what,
             std::vector<Number>& found, std::size_t depth = 0) {
  if (data.is_array() && depth < kDeepest) {
    for (const auto& part : data) {
      flatten(part, dtype, what, found, depth + 1);
    }
  } else if (fits(data, dtype)) {
    found.push_back(data.is_boolean() ? static_cast<Number>(data.get<bool>())
                                      : data.get<Number>());
  } else {
    throw BadRequest(what + ": its data has an element that is no " + datatype_of(dtype));
  }
}

template <typename Number>
at::Tensor filled(const json& data, at::ScalarType dtype, const std::string& what) {
  std::vector<Number> numbers;
  flatten(data, dtype, what, numbers);
  const auto wide = at::tensor(numbers);
  const auto made = wide.to(dtype);
  if (!at::isFloatingType(dtype) && !made.to(wide.scalar_type()).equal(wide)) {
    throw BadRequest(what + ": its data is out of the range of " + datatype_of(dtype));
  }
  return made;
}

std::vector<std::int64_t> shape_of(const json& input, const std::string& what) {
  std::vector<std::int64_t> shape;
  const auto& given = member(input, "shape", what);
  if (!given.is_array() || given.size() > kDeepest) {
    throw BadRequest(what + ": its shape is no list of sizes");
  }
  for (const auto& size : given) {
    if (!fits(size, at::kLong) || size.get<std::int64_t>() < 0) {
      throw BadRequest(what + ": its shape is no list of sizes");
    }
    shape.push_back(size.get<std::int64_t>());
  }
  return shape;
}

// The number of elements; -1 where it is beyond what a request can hold, also for a shape that has
// none because of one size.
std::int64_t count_of(const std::vector<std::int64_t>& shape) {
  constexpr std::int64_t most = std::int64_t{1} << 31;
  std::int64_t count = 1;
  bool is_empty = false;
  for (const auto size : shape) {
    if (size > most || (count *= std::max<std::int64_t>(size, 1)) > most) {
      return -1;
    }
    is_empty |= size == 0;
  }
  return is_empty ? 0 : count;
}

// The same values in memory as the model wants them; what has another shape is refused later.
at::Tensor laid_out(const InputSpec& spec, const at::Tensor& tensor) {
  const auto sizes = tensor.sizes();
  if (spec.sizes.size() != sizes.size()) {
    return tensor;
  }
  if (spec.order.size() == sizes.size()) {
    std::vector<std::int64_t> strides(sizes.size());
    std::int64_t stride = 1;
    for (auto dim = spec.order.rbegin(); dim != spec.order.rend(); ++dim) {
      strides[*dim] = stride;
      stride *= std::max<std::int64_t>(sizes[*dim], 1);
    }
    return tensor.new_empty_strided(sizes, strides).copy_(tensor);
  }
  const bool is_exact = std::equal(sizes.begin(), sizes.end(), spec.sizes.begin(),
                                   [](auto size, const Size& wanted) { return size == wanted.fixed; });
  return is_exact ? tensor.new_empty_strided(sizes, spec.strides).copy_(tensor) : tensor;
}

at::Tensor tensor_of(const InputSpec& spec, const json& input) {
  const std::string what(spec.name);
  const auto& datatype = member(input, "datatype", what);
  if (!datatype.is_string()) {
    throw BadRequest(what + ": its datatype is no text");
  }
  const auto dtype = dtype_of(datatype.get<std::string>());
  const auto& data = member(input, "data", what);
  const auto flat = at::isFloatingType(dtype) ? filled<double>(data, dtype, what)
                                              : filled<std::int64_t>(data, dtype, what);
  const auto shape = shape_of(input, what);
  if (flat.numel() != count_of(shape)) {
    throw BadRequest(c10::str(what, ": its data has ", flat.numel(), " elements, its shape is ",
                              at::IntArrayRef(shape)));
  }
  const auto tensor = flat.view(shape);
  return laid_out(spec, tensor).to(kDevice);
}

json numbers_of(const at::Tensor& tensor) {
  const auto flat = tensor.cpu().reshape(-1);
  if (flat.scalar_type() == at::kBool) {
    json found = json::array();
    for (std::int64_t i = 0; i < flat.numel(); ++i) {
      found.push_back(flat[i].item<bool>());
    }
    return found;
  }
  const auto wide = flat.to(flat.is_floating_point() ? at::kDouble : at::kLong).contiguous();
  if (flat.is_floating_point()) {
    return std::vector<double>(wide.const_data_ptr<double>(),
                               wide.const_data_ptr<double>() + wide.numel());
  }
  return std::vector<std::int64_t>(wide.const_data_ptr<std::int64_t>(),
                                   wide.const_data_ptr<std::int64_t>() + wide.numel());
}

}  // namespace

void check_form(std::string_view text) {
  std::size_t depth = 0;
  std::size_t lists = 0;
  std::size_t values = 0;
  bool is_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char sign = text[i];
    if (is_text) {
      i += sign == '\\' ? 1 : 0;
      is_text = sign != '"';
      continue;
    }
    is_text = sign == '"';
    values += sign == ',' || sign == ':' ? 1 : 0;
    if (sign == '[' || sign == '{') {
      ++lists;
      if (++depth > kDeepestForm) {
        throw BadRequest(c10::str("its lists are nested more than ", kDeepestForm, " deep"));
      }
    } else if (sign == ']' || sign == '}') {
      depth -= depth > 0 ? 1 : 0;
    }
  }
  if (lists > kMostLists || values > kMostValues) {
    throw BadRequest(c10::str("it has ", lists, " lists and ", values, " values, at most ",
                              kMostLists, " and ", kMostValues, " are read: send data as flat lists"));
  }
}

void check_id(const json& request) {
  if (!request.is_object()) {
    throw BadRequest("the request is no object");
  }
  const auto id = request.find("id");
  if (id != request.end() && !id->is_string() && !id->is_number()) {
    throw BadRequest("its id is neither text nor a number");
  }
}

json metadata() {
  json inputs = json::array();
  for (const auto& spec : kInputs) {
    json shape = json::array();
    for (const auto& size : spec.sizes) {
      shape.push_back(size.fixed);
    }
    inputs.push_back({{"name", std::string(spec.name)},
                      {"datatype", datatype_of(spec.dtype)},
                      {"shape", shape}});
  }
  json outputs = json::array();
  for (const auto& spec : kOutputs) {
    json one = {{"name", c10::str("output_", outputs.size())}};
    if (spec.dtype != at::ScalarType::Undefined) {  // that is None in Python
      one.update({{"datatype", datatype_of(spec.dtype)}, {"shape", spec.shape}});
    }
    outputs.push_back(one);
  }
  return {{"name", kModel}, {"platform", "aotinductor"}, {"inputs", inputs}, {"outputs", outputs}};
}

std::vector<at::Tensor> inputs_of(const json& request) {
  const auto& given = member(request, "inputs", "the request");
  if (!given.is_array()) {
    throw BadRequest("the inputs of the request are no list");
  }
  std::vector<at::Tensor> found;
  for (const auto& spec : kInputs) {
    const auto input = std::find_if(given.begin(), given.end(), [&](const json& one) {
      return one.is_object() && one.contains("name") && one["name"] == std::string(spec.name);
    });
    if (input == given.end()) {
      throw BadRequest(c10::str("the request has no input named ", spec.name));
    }
    found.push_back(tensor_of(spec, *input));
  }
  if (given.size() != kInputs.size()) {
    throw BadRequest(
        c10::str("the request has ", given.size(), " inputs, the model takes ", kInputs.size()));
  }
  return found;
}

json answer_of(const json& request, const std::vector<at::Tensor>& outputs) {
  json found = json::array();
  for (const auto& output : outputs) {
    json one = {{"name", c10::str("output_", found.size())}};
    if (output.defined()) {  // otherwise it is None in Python
      one.update({{"datatype", datatype_of(output.scalar_type())},
                  {"shape", output.sizes().vec()},
                  {"data", numbers_of(output)}});
    }
    found.push_back(one);
  }
  json answer = {{"model_name", kModel}, {"outputs", found}};
  if (request.contains("id")) {
    answer["id"] = request["id"];
  }
  return answer;
}

}  // namespace $namespace
