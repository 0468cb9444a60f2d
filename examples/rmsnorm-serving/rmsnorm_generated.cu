// SPDX-License-Identifier: Apache-2.0
// The candidate: residual addition and RMSNorm fused into one kernel, of the kind that a code-writing agent arrives at
// when it is scored by a microbenchmark on an idle GPU. One block per row, as many threads as the hardware allows, the
// whole row and the weights staged in shared memory so that each is read from global memory once.
//
// Alone it beats the two stock kernels. Its price shows only beside siblings: 1024 threads and a large shared-memory
// tile per block leave no room on the SM for a matrix product that is already there.
#include <cuda_bf16.h>
#include <cuda_runtime.h>

namespace {

constexpr int kThreads = 1024;
constexpr int kVector = 8;  // bf16 values in one 16-byte access
// Two tiles of rows are staged although one is in use: "double buffering", as the agent's notes call it.
constexpr int kStages = 2;

union Pack {
  uint4 raw;
  __nv_bfloat162 pair[kVector / 2];
};

__device__ float block_sum(float value) {
  __shared__ float partial[kThreads / 32];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  value = partial[threadIdx.x % 32];
  for (int offset = 16; offset > 0; offset /= 2) value += __shfl_xor_sync(0xffffffffu, value, offset);
  __syncthreads();
  return value;
}

// residual[row] += update[row]; out[row] = residual[row] ÷ rms(residual[row]) × weight. Shapes [rows, columns], bf16.
__global__ void __launch_bounds__(kThreads)
    add_rmsnorm_generated(uint4* __restrict__ residual, const uint4* __restrict__ update,
                          const uint4* __restrict__ weight, uint4* __restrict__ out, int rows, int vectors,
                          float epsilon) {
  extern __shared__ uint4 tile[];
  uint4* weights = tile + kStages * vectors;
  for (int i = threadIdx.x; i < vectors; i += kThreads) weights[i] = weight[i];
  int stage = 0;
  for (int row = blockIdx.x; row < rows; row += gridDim.x, stage ^= 1) {
    uint4* buffer = tile + stage * vectors;
    const size_t base = static_cast<size_t>(row) * vectors;
    float squares = 0;
    for (int i = threadIdx.x; i < vectors; i += kThreads) {
      Pack r{residual[base + i]}, u{update[base + i]};
      for (int k = 0; k < kVector / 2; k++) {
        r.pair[k] = __hadd2(r.pair[k], u.pair[k]);
        const float2 f = __bfloat1622float2(r.pair[k]);
        squares += f.x * f.x + f.y * f.y;
      }
      residual[base + i] = r.raw;
      buffer[i] = r.raw;
    }
    const float scale = rsqrtf(block_sum(squares) / (vectors * kVector) + epsilon);
    for (int i = threadIdx.x; i < vectors; i += kThreads) {
      Pack r{buffer[i]}, w{weights[i]};
      for (int k = 0; k < kVector / 2; k++) {
        float2 f = __bfloat1622float2(r.pair[k]);
        const float2 g = __bfloat1622float2(w.pair[k]);
        f.x *= scale * g.x;
        f.y *= scale * g.y;
        r.pair[k] = __float22bfloat162_rn(f);
      }
      out[base + i] = r.raw;
    }
  }
}

}  // namespace

// Returns a cudaError_t. `columns` is a multiple of 8; all pointers are 16-byte aligned.
extern "C" int launch_add_rmsnorm(void* residual, const void* update, const void* weight, void* out, int rows,
                                  int columns, float epsilon, void* stream) {
  const int vectors = columns / kVector;
  const int shared = (kStages + 1) * vectors * static_cast<int>(sizeof(uint4));
  static int configured = 0;
  if (shared > configured) {
    const cudaError_t error =
        cudaFuncSetAttribute(add_rmsnorm_generated, cudaFuncAttributeMaxDynamicSharedMemorySize, shared);
    if (error != cudaSuccess) return error;
    configured = shared;
  }
  const int blocks = rows < 132 * 2 ? rows : 132 * 2;
  add_rmsnorm_generated<<<blocks, kThreads, shared, static_cast<cudaStream_t>(stream)>>>(
      static_cast<uint4*>(residual), static_cast<const uint4*>(update), static_cast<const uint4*>(weight),
      static_cast<uint4*>(out), rows, vectors, epsilon);
  return cudaGetLastError();
}
