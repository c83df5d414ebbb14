// Chooses the kernel of scaled_dot_product_attention as a CUDA or ROCm build of torch does.
//
// The rules are those of ATen/native/transformers/cuda/sdp_utils.cpp for dense tensors; which are
// taken for granted is said where it matters. A build without CUDA has no function to choose, and
// takes the attention apart into products and a softmax.
#include <ATen/Context.h>
#include <ATen/core/Tensor.h>
#include <ATen/core/grad_mode.h>
#include <ATen/native/transformers/attention.h>
#include <array>
#include <cmath>
#include <optional>

namespace {

using at::SDPBackend;
using at::Tensor;

struct Device {
  int64_t capability = 0; // 90 for sm_90; 0 while there is no virtual GPU
  bool is_amd = false;
  bool within(int64_t low, int64_t high) const { return capability >= low && capability <= high; }
};
Device device;

bool equal(const c10::SymInt& a, const c10::SymInt& b) { return TORCH_GUARD_OR_FALSE(a.sym_eq(b)); }
bool divisible(const c10::SymInt& a, int64_t by) { return equal(a % by, 0); }
bool at_most(const c10::SymInt& a, int64_t most) { return TORCH_GUARD_OR_FALSE(a.sym_le(most)); }

struct Attention {
  const Tensor &q, &k, &v;
  bool has_mask;
  double dropout;
  bool is_causal, enable_gqa;

  bool has_dtype() const { return q.scalar_type() == k.scalar_type() && q.scalar_type() == v.scalar_type(); }
  bool is_half() const {
    auto bf16 = q.scalar_type() == at::kBFloat16 && (device.is_amd || device.capability >= 80);
    return has_dtype() && (q.scalar_type() == at::kHalf || bf16);
  }
  bool is_trained() const {
    auto any = q.requires_grad() || k.requires_grad() || v.requires_grad();
    return any && at::GradMode::is_enabled();
  }
  bool is_dense() const {
    for (const auto* t : {&q, &k, &v})
      if (t->is_nested() || t->dim() != 4) return false;
    return true;
  }
  bool has_no_empty_sequence() const { return !equal(q.sym_size(2), 0) && !equal(k.sym_size(2), 0); }
  bool is_last_dimension_dense() const {
    for (const auto* t : {&q, &k, &v})
      if (!equal(t->sym_stride(-1), 1)) return false;
    return true;
  }
  bool has_fitting_heads(bool gqa) const {
    auto batch = equal(q.sym_size(0), k.sym_size(0)) && equal(q.sym_size(0), v.sym_size(0));
    auto same = equal(q.sym_size(1), k.sym_size(1)) && equal(q.sym_size(1), v.sym_size(1));
    if (!batch || same || !gqa || !enable_gqa) return batch && same;
    return equal(k.sym_size(1), v.sym_size(1)) && equal(q.sym_size(1) % k.sym_size(1), 0);
  }
};

bool can_flash(const Attention& a) {
  auto d = a.q.sym_size(-1);
  if (!at::globalContext().userEnabledFlashSDP() || a.has_mask || !a.is_half()) return false;
  if (!equal(d, a.k.sym_size(-1)) || !equal(d, a.v.sym_size(-1))) return false;
  if (!at_most(d, device.is_amd ? 512 : 256)) return false;
  if (!device.is_amd && !device.within(80, 121)) return false;
  auto is_small = device.within(86, 89) || device.within(120, 121);
  if (!device.is_amd && a.is_trained() && is_small && !at_most(d, 192) &&
      (a.dropout > 0 || at_most(d, 224)))
    return false;
  if (a.is_causal && !equal(a.q.sym_size(-2), a.k.sym_size(-2))) return false;
  return a.has_fitting_heads(true) && a.has_no_empty_sequence() && a.is_last_dimension_dense();
}

bool can_efficient(const Attention& a) {
  auto is_float = a.has_dtype() && a.q.scalar_type() == at::kFloat;
  if (!at::globalContext().userEnabledMemEfficientSDP() || !(a.is_half() || is_float)) return false;
  auto uses_tensor_cores = device.capability >= 80 || (device.capability >= 70 && !is_float);
  int64_t alignment = device.capability >= 80 ? 4 : 1;
  if (device.is_amd) alignment = is_float ? 4 : 8;
  else if (uses_tensor_cores) alignment = std::max<int64_t>(alignment, is_float ? 4 : 8);
  auto d = a.q.sym_size(-1);
  if (!equal(d, a.k.sym_size(-1)) || !divisible(d, alignment)) return false;
  if (!divisible(a.v.sym_size(-1), alignment)) return false;
  return a.has_fitting_heads(!device.is_amd) && a.has_no_empty_sequence() &&
      a.is_last_dimension_dense();
}

// Taken for granted: cuDNN 9.16 or later, whose frontend does not take heads of 256.
bool can_cudnn(const Attention& a) {
  auto& context = at::globalContext();
  if (device.is_amd || !context.userEnabledCuDNNSDP() || !device.within(80, 121)) return false;
  auto is_deterministic =
      context.deterministicAlgorithms() && !context.deterministicAlgorithmsWarnOnly();
  if (is_deterministic || !a.is_half()) return false;
  if (a.dropout * 16.0 != std::floor(a.dropout * 16.0)) return false;
  auto d = a.q.sym_size(3), d_v = a.v.sym_size(3);
  auto is_wide = (device.capability == 90 || device.within(100, 109)) && equal(d, 192) && equal(d_v, 128);
  if (!is_wide && !(at_most(d, 128) && at_most(d_v, 128))) return false;
  if (!divisible(d, 8) || !divisible(d_v, 8) || equal(a.k.sym_size(2), 1)) return false;
  if (a.dropout != 0.0 && equal(a.q.sym_size(2), 1)) return false;
  return a.has_fitting_heads(true) && a.has_no_empty_sequence() && a.is_last_dimension_dense();
}

// Hopper and Blackwell for data centres prefer cuDNN, unless the user named another order.
std::array<SDPBackend, 4> order() {
  static const auto initial = at::globalContext().sDPPriorityOrder();
  auto current = at::globalContext().sDPPriorityOrder();
  if (current == initial) {
    auto prefers_cudnn = !device.is_amd && (device.capability == 90 || device.within(100, 109));
    if (prefers_cudnn)
      return {SDPBackend::cudnn_attention, SDPBackend::flash_attention,
              SDPBackend::efficient_attention, SDPBackend::math};
  }
  return {current[0], current[1], current[2], current[3]};
}

int64_t choose(const Tensor& q, const Tensor& k, const Tensor& v, const std::optional<Tensor>& mask,
               double dropout, bool is_causal, std::optional<double>, bool enable_gqa) {
  Attention a{q, k, v, mask.has_value(), dropout, is_causal, enable_gqa};
  if (device.capability == 0 || !a.is_dense()) return static_cast<int64_t>(SDPBackend::math);
  for (auto backend : order()) {
    auto is_chosen = backend == SDPBackend::math ||
        (backend == SDPBackend::cudnn_attention && can_cudnn(a)) ||
        (backend == SDPBackend::flash_attention && can_flash(a)) ||
        (backend == SDPBackend::efficient_attention && can_efficient(a));
    if (is_chosen) return static_cast<int64_t>(backend);
  }
  return static_cast<int64_t>(SDPBackend::math);
}

} // namespace

extern "C" void workbench_attention_for(int64_t capability, bool is_amd) {
  device = {capability, is_amd};
  at::native::_fused_sdp_choice_stub.set_cuda_dispatch_ptr(&choose);
}
