// Tensors and the model in the JSON of the Open Inference Protocol.
#pragma once

#include <ATen/core/Tensor.h>

#include <nlohmann/json.hpp>
#include <stdexcept>
#include <string_view>
#include <vector>

namespace $namespace {

// What the sender of a request did wrong.
class BadRequest : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Names, datatypes and shapes of the inputs and outputs. Throws Error for a dtype without a name.
nlohmann::json metadata();

// Throws BadRequest for a text that would take more memory or stack than its size allows; before
// it is parsed.
void check_form(std::string_view text);

// Throws BadRequest for an id that is neither text nor a number: it comes back in the answer.
void check_id(const nlohmann::json& request);

// The tensors of a request in the order of kInputs. Throws BadRequest naming what is wrong.
std::vector<at::Tensor> inputs_of(const nlohmann::json& request);

// The answer with what the model returned.
nlohmann::json answer_of(const nlohmann::json& request, const std::vector<at::Tensor>& outputs);

}  // namespace $namespace
