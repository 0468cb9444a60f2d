// SPDX-License-Identifier: Apache-2.0
// Six kernels that run alone, for ncu and kvet side by side: a copy, a tiled GEMM, a softmax, a reduction, one of low occupancy,
// and one on the tensor cores.   ncu_rig once | ncu_rig loop SECONDS      (SECONDS per kernel)
#include <cuda_bf16.h>
#include <mma.h>
#include <string.h>
#include <unistd.h>

#include <functional>
#include <string>
#include <vector>

#include "rig_check.h"

extern "C" __global__ void __launch_bounds__(256) ncu_copy(const uint4* from, uint4* to, size_t count) {
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    to[i] = from[i];
  }
}

// 32 × 32 tiles in shared memory; n is a multiple of 32.
extern "C" __global__ void __launch_bounds__(1024) ncu_gemm(const float* a, const float* b, float* c, int n) {
  __shared__ float left[32][33], right[32][33];
  const int row = blockIdx.y * 32 + threadIdx.y, column = blockIdx.x * 32 + threadIdx.x;
  float sum = 0;
  for (int tile = 0; tile < n; tile += 32) {
    left[threadIdx.y][threadIdx.x] = a[size_t(row) * n + tile + threadIdx.x];
    right[threadIdx.y][threadIdx.x] = b[size_t(tile + threadIdx.y) * n + column];
    __syncthreads();
    for (int k = 0; k < 32; ++k)
      sum += left[threadIdx.y][k] * right[k][threadIdx.x];
    __syncthreads();
  }
  c[size_t(row) * n + column] = sum;
}

__device__ float across_block(float value, bool maximum) {
  __shared__ float parts[32];
  for (int shift = 16; shift > 0; shift /= 2) {
    const float other = __shfl_xor_sync(~0u, value, shift);
    value = maximum ? fmaxf(value, other) : value + other;
  }
  if (threadIdx.x % 32 == 0)
    parts[threadIdx.x / 32] = value;
  __syncthreads();
  value = parts[0];
  for (int i = 1; i < blockDim.x / 32; ++i)
    value = maximum ? fmaxf(value, parts[i]) : value + parts[i];
  __syncthreads();
  return value;
}

// One row per block.
extern "C" __global__ void __launch_bounds__(512) ncu_softmax(const float* from, float* to, int columns) {
  const float* row = from + size_t(blockIdx.x) * columns;
  float most = -1e30f, sum = 0;
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    most = fmaxf(most, row[i]);
  most = across_block(most, true);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    sum += __expf(row[i] - most);
  sum = across_block(sum, false);
  for (int i = threadIdx.x; i < columns; i += blockDim.x)
    to[size_t(blockIdx.x) * columns + i] = __expf(row[i] - most) / sum;
}

extern "C" __global__ void __launch_bounds__(256) ncu_reduction(const float4* from, float* to, size_t count) {
  float sum = 0;
  for (size_t i = blockIdx.x * size_t(blockDim.x) + threadIdx.x; i < count; i += size_t(gridDim.x) * blockDim.x) {
    const float4 value = from[i];
    sum += value.x + value.y + value.z + value.w;
  }
  sum = across_block(sum, false);
  if (threadIdx.x == 0)
    to[blockIdx.x] = sum;
}

// One warp per SM: a chain of dependent operations.
extern "C" __global__ void __launch_bounds__(32) ncu_low(float* to, int steps) {
  float value = threadIdx.x;
  for (int i = 0; i < steps; ++i)
    value = value * 0.999f + 1.0f;
  to[blockIdx.x * 32 + threadIdx.x] = value;
}

// Each warp makes a 16 × 16 tile of the product, n a multiple of 64.
extern "C" __global__ void __launch_bounds__(128)
    ncu_tensor(const __nv_bfloat16* a, const __nv_bfloat16* b, float* c, int n) {
  using namespace nvcuda::wmma;
  const int row = blockIdx.y * 16, column = (blockIdx.x * 4 + threadIdx.x / 32) * 16;
  fragment<accumulator, 16, 16, 16, float> sum;
  fill_fragment(sum, 0.0f);
  for (int k = 0; k < n; k += 16) {
    fragment<matrix_a, 16, 16, 16, __nv_bfloat16, row_major> left;
    fragment<matrix_b, 16, 16, 16, __nv_bfloat16, row_major> right;
    load_matrix_sync(left, a + size_t(row) * n + k, n);
    load_matrix_sync(right, b + size_t(k) * n + column, n);
    mma_sync(sum, left, right, sum);
  }
  store_matrix_sync(c + size_t(row) * n + column, sum, n, mem_row_major);
}

// Half a second of it lets the clocks rise: the first kernel is not to be measured at an idle clock. ncu is told to pass it by.
extern "C" __global__ void rise(uint64_t nanoseconds) {
  const uint64_t begin = globaltimer();
  while (globaltimer() - begin < nanoseconds) {
  }
}

int main(int count, char** values) {
  const std::string mode = count > 1 ? values[1] : "";
  const double seconds = count > 2 ? std::atof(values[2]) : 1;
  if (mode != "once" && mode != "loop") {
    std::fprintf(stderr, "usage: ncu_rig once | ncu_rig loop SECONDS\n");
    return 64;
  }
  RIG_RUN(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  constexpr size_t bytes = 1ull << 30;
  char *from, *to;
  RIG_RUN(cudaMalloc(&from, bytes));
  RIG_RUN(cudaMalloc(&to, bytes));
  RIG_RUN(cudaMemset(from, 0, bytes));
  RIG_RUN(cudaMemset(to, 0, bytes));
  auto* floats = reinterpret_cast<float*>(from);
  auto* result = reinterpret_cast<float*>(to);
  const std::vector<std::function<void()>> kernels = {
      [&] { ncu_copy<<<1056, 256>>>(reinterpret_cast<uint4*>(from), reinterpret_cast<uint4*>(to), bytes / 16); },
      [&] { ncu_gemm<<<dim3(64, 64), dim3(32, 32)>>>(floats, floats + (8 << 20), result, 2048); },
      [&] { ncu_softmax<<<16000, 512>>>(floats, result, 16384); },
      [&] { ncu_reduction<<<528, 256>>>(reinterpret_cast<float4*>(from), result, bytes / 16); },
      [&] { ncu_low<<<132, 32>>>(result, 500'000); },
      [&] {
        ncu_tensor<<<dim3(64, 256), 128>>>(reinterpret_cast<__nv_bfloat16*>(from),
                                           reinterpret_cast<__nv_bfloat16*>(from) + (32 << 20), result, 4096);
      }};
  for (int i = 0; i < 50; ++i)
    rise<<<1056, 256>>>(10'000'000);
  RIG_RUN(cudaDeviceSynchronize());
  for (const auto& kernel : kernels) {
    const uint64_t until = monotonic_ns() + (mode == "loop" ? uint64_t(seconds * 1e9) : 0);
    do {
      kernel();
      RIG_RUN(cudaGetLastError());
      RIG_RUN(cudaDeviceSynchronize());
      if (mode == "loop")
        wait_until(monotonic_ns() + 300'000);
    } while (monotonic_ns() < until);
  }
  return 0;
}
