// Answers of a CUDA device that is not there, for autograd's engine and the dispatcher.
//
// Load it after libtorch_cpu and before Python imports torch: torch asks for its CUDA hooks once.
#include <ATen/detail/CUDAHooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

namespace c10::impl {

struct VirtualGuard : public NoOpDeviceGuardImpl<DeviceType::CUDA> {
  static constexpr DeviceType kind = DeviceType::CUDA;
  DeviceIndex deviceCount() const noexcept override { return 1; }
  Device getDevice() const override { return Device(kind, 0); }
  Device exchangeDevice(Device) const override { return Device(kind, 0); }
  Stream getStream(Device) const noexcept override { return stream(); }
  Stream getDefaultStream(Device) const override { return stream(); }
  Stream exchangeStream(Stream s) const noexcept override { return s; }
  void record(void**, const Stream&, const DeviceIndex, const EventFlag) const override {}
  void block(void*, const Stream&) const override {}
  bool queryEvent(void*) const override { return true; }
  void destroyEvent(void*, const DeviceIndex) const noexcept override {}
  bool queryStream(const Stream&) const override { return true; }
  void synchronizeStream(const Stream&) const override {}
  void synchronizeEvent(void*) const override {}

 private:
  static Stream stream() { return Stream(Stream::DEFAULT, Device(kind, 0)); }
};

} // namespace c10::impl

extern "C" void* workbench_virtual_guard() {
  static const c10::impl::VirtualGuard guard;
  return (void*)static_cast<const c10::impl::DeviceGuardImplInterface*>(&guard);
}

namespace at {

struct CUDAHooks : public CUDAHooksInterface {
  explicit CUDAHooks(CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  DeviceIndex deviceCount() const override { return 1; }
  int getNumGPUs() const override { return 1; }
  DeviceIndex current_device() const override { return 0; }
  bool hasPrimaryContext(DeviceIndex) const override { return false; }
  // attention asks for the version before it chooses among its kernels
  bool hasCuDNN() const override { return true; }
  bool compiledWithCuDNN() const override { return true; }
  long versionCuDNN() const override { return 92600; }
  long versionRuntimeCuDNN() const override { return 92600; }
  long versionCUDART() const override { return 13020; }
  // batch normalisation and convolutions ask what cuDNN can do
  double batchnormMinEpsilonCuDNN() const override { return 0.0; }
  bool supportsDilatedConvolutionWithCuDNN() const override { return true; }
  bool supportsDepthwiseConvolutionWithCuDNN() const override { return true; }
  bool supportsBFloat16ConvolutionWithCuDNNv8() const override { return true; }
};

// a build with CUDA has registered its own under this name: this one goes before it
C10_REGISTER_CLASS_WITH_PRIORITY(CUDAHooksRegistry, CUDAHooks, c10::REGISTRY_PREFERRED, CUDAHooks)

} // namespace at
