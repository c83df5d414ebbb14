#include "input_check.hpp"

#include <c10/util/StringUtil.h>

#include <algorithm>

namespace $namespace {
namespace {

std::string dtype_name(at::ScalarType type) { return std::string(c10::getDtypeNames(type).first); }

std::string device_name(at::DeviceType type) {
  return c10::DeviceTypeName(type, /*lower_case=*/true);
}

// The value that an input gave a dimension, and where.
struct Seen {
  std::string_view dim;
  std::int64_t value;
  std::string where;
};

class Check {
 public:
  std::vector<std::string> problems;

  // A sentence if the sizes that the inputs gave the dimensions do not fulfil a relation.
  void relation(const Relation& relation) {
    std::vector<std::int64_t> values;
    std::string shown;
    for (const auto& dim : relation.dims) {
      const auto* seen = find(dim);
      if (seen == nullptr) {
        return;
      }
      values.push_back(seen->value);
      shown += c10::str(shown.empty() ? "" : ", ", "'", dim, "': ", seen->value);
    }
    if (!relation.holds(values)) {
      problems.push_back(c10::str("the dimensions {", shown, "} do not satisfy ", relation.text));
    }
  }

  void input(const InputSpec& spec, const at::Tensor& tensor) {
    if (!tensor.defined()) {
      problems.push_back(c10::str(spec.name, ": expected a tensor, it is undefined"));
      return;
    }
    if (tensor.layout() != at::kStrided) {
      problems.push_back(c10::str(spec.name, ": expected a dense tensor, got ", tensor.layout(),
                                  ": call .to_dense()"));
      return;
    }
    if (tensor.is_conj() || tensor.is_neg()) {
      problems.push_back(c10::str(spec.name,
                                  ": its conjugation is not carried out yet: call "
                                  ".resolve_conj().resolve_neg()"));
      return;
    }
    if (tensor.scalar_type() != spec.dtype) {
      problems.push_back(c10::str(spec.name, ": expected dtype ", dtype_name(spec.dtype), ", got ",
                                  dtype_name(tensor.scalar_type())));
    }
    if (tensor.device().type() != spec.device) {
      problems.push_back(c10::str(spec.name, ": expected device ", device_name(spec.device),
                                  ", got ", device_name(tensor.device().type())));
    }
    if (tensor.dim() != static_cast<std::int64_t>(spec.sizes.size())) {
      problems.push_back(
          c10::str(spec.name, ": expected shape ", text(spec.sizes), ", got ", tensor.sizes()));
      return;
    }
    const auto before = problems.size();
    for (std::size_t i = 0; i < spec.sizes.size(); ++i) {
      size(c10::str(spec.name), i, spec.sizes[i], tensor.size(static_cast<std::int64_t>(i)));
    }
    if (problems.size() == before) {
      layout(spec, tensor);
    }
  }

 private:
  std::vector<Seen> seen_;

  const Seen* find(std::string_view dim) const {
    const auto same = [&](const Seen& seen) { return seen.dim == dim; };
    const auto found = std::find_if(seen_.begin(), seen_.end(), same);
    return found == seen_.end() ? nullptr : &*found;
  }

  void size(const std::string& name, std::size_t index, const Size& expected, std::int64_t actual) {
    if (expected.fixed >= 0 && actual != expected.fixed) {
      problems.push_back(c10::str(name, ": expected size ", expected.fixed, " at dimension ", index,
                                  ", got ", actual));
    }
    if (expected.fixed >= 0) {
      return;
    }
    const auto scaled = actual - expected.offset;
    const auto value = scaled / expected.scale;
    if (scaled % expected.scale != 0 || value < expected.min || value > expected.max) {
      problems.push_back(c10::str(name, ": dimension ", index, " is ", actual,
                                  ", outside the declared ", text(expected)));
      return;
    }
    if (expected.dim.empty()) {
      return;
    }
    const auto* first = find(expected.dim);
    if (first == nullptr) {
      seen_.push_back({expected.dim, value, c10::str(name, " dimension ", index)});
    } else if (first->value != value) {
      problems.push_back(c10::str(name, ": dimension ", index, " makes ", expected.dim, " ", value,
                                  ", but ", first->where, " makes it ", first->value));
    }
  }

  void layout(const InputSpec& spec, const at::Tensor& tensor) {
    std::int64_t stride = 1;
    bool fits = true;
    for (std::size_t i = spec.sizes.size(); i-- > 0;) {
      const auto dim = spec.order.empty() ? static_cast<std::int64_t>(i) : spec.order[i];
      const auto expected = spec.order.empty() ? spec.strides[i] : stride;
      fits = fits && (tensor.size(dim) == 1 || tensor.stride(dim) == expected);
      stride *= tensor.size(dim);
    }
    if (!fits && tensor.numel() != 0) {
      problems.push_back(c10::str(spec.name, ": expected ", layout_text(spec), ", got stride ",
                                  tensor.strides(),
                                  "; call .contiguous() or compile for this layout"));
    }
  }

  static std::string layout_text(const InputSpec& spec) {
    if (spec.order.empty()) {
      return c10::str("stride ", at::IntArrayRef(spec.strides));
    }
    return std::is_sorted(spec.order.begin(), spec.order.end())
               ? "a contiguous tensor"
               : c10::str("a layout with its dimensions in the order ",
                          at::IntArrayRef(spec.order), " in memory, outermost first");
  }

  static std::string text(const std::vector<Size>& sizes) {
    std::string shown;
    for (const auto& size : sizes) {
      shown += shown.empty() ? "" : ", ";
      shown += size.fixed >= 0 ? std::to_string(size.fixed) : text(size);
    }
    return "[" + shown + "]";
  }

  static std::string text(const Size& size) {
    const auto end = [&](std::int64_t value) { return size.scale * value + size.offset; };
    if (size.dim.empty()) {
      return "any";
    }
    std::string shown = size.scale == 1 ? "" : c10::str(size.scale, "*");
    shown += size.dim;
    if (size.offset != 0) {
      shown += c10::str(size.offset > 0 ? "+" : "", size.offset);
    }
    shown += c10::str(" in ", end(size.min), "..");
    return size.max == Size{}.max ? shown : shown + c10::str(end(size.max));
  }
};

}  // namespace

std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  const auto quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return a - b * floor_div(a, b); }

std::vector<std::string> problems(const std::vector<InputSpec>& specs,
                                  const std::vector<Relation>& relations,
                                  const std::vector<at::Tensor>& inputs) {
  if (inputs.size() != specs.size()) {
    return {c10::str("expected ", specs.size(), " tensors, got ", inputs.size())};
  }
  Check check;
  for (std::size_t i = 0; i < specs.size(); ++i) {
    check.input(specs[i], inputs[i]);
  }
  if (check.problems.empty()) {
    for (const auto& relation : relations) {
      check.relation(relation);
    }
  }
  return check.problems;
}

}  // namespace $namespace
