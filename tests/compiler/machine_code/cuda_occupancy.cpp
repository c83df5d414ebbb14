// Asks NVIDIA's own occupancy calculator, which is a header and needs no GPU.
// In:  major minor threads/SM registers/SM shared/SM opt-in reserved | registers shared threads
// Out: blocks and the bits of what limits them (1 warps, 2 registers, 4 shared memory, 8 blocks)
#include <climits>
#include <cstdio>
#include <cstring>

#include "cuda_occupancy.h"

int main() {
  cudaOccDeviceProp device;
  int optin, reserved, shared_per_sm, registers, shared, threads;
  while (scanf("%d %d %d %d %d %d %d %d %d %d", &device.computeMajor, &device.computeMinor,
               &device.maxThreadsPerMultiprocessor, &device.regsPerMultiprocessor, &shared_per_sm,
               &optin, &reserved, &registers, &shared, &threads) == 10) {
    device.maxThreadsPerBlock = 1024;
    device.regsPerBlock = device.regsPerMultiprocessor;
    device.warpSize = 32;
    device.sharedMemPerBlock = 49152;
    device.sharedMemPerMultiprocessor = shared_per_sm;
    device.numSms = 1;
    device.sharedMemPerBlockOptin = optin;
    device.reservedSharedMemPerBlock = reserved;

    cudaOccFuncAttributes kernel;
    memset(&kernel, 0, sizeof kernel);
    kernel.maxThreadsPerBlock = 1024;
    kernel.numRegs = registers;
    kernel.partitionedGCConfig = PARTITIONED_GC_OFF;
    kernel.shmemLimitConfig = FUNC_SHMEM_LIMIT_OPTIN;
    kernel.maxDynamicSharedSizeBytes = shared > 49152 ? shared : 49152;

    cudaOccDeviceState state;
    memset(&state, 0, sizeof state);
    state.carveoutConfig = SHAREDMEM_CARVEOUT_DEFAULT;

    cudaOccResult result;
    memset(&result, 0, sizeof result);
    if (cudaOccMaxActiveBlocksPerMultiprocessor(&result, &device, &kernel, &state, threads,
                                                shared) != CUDA_OCC_SUCCESS)
      return 1;
    printf("%d %u\n", result.activeBlocksPerMultiprocessor, result.limitingFactors);
  }
}
