// A correct program: clusters of 16 blocks, each block with an mbarrier at which its first thread arrives and for which all
// wait. It ends with 1 if a launch fails. On an H100, synccheck of compute-sanitizer 2025.3.1 ended such a kernel with an
// illegal address.
#include <cooperative_groups.h>
#include <cstdio>

__global__ void wait_for_own_mailbox(float* done) {
  __shared__ unsigned long long box;
  const auto cluster = cooperative_groups::this_cluster();
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(&box));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address) : "memory");
  cluster.sync();
  if (threadIdx.x == 0) asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(address) : "memory");
  unsigned over = 0;
  while (over == 0)
    asm volatile(
        "{\n"
        ".reg .pred over;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 over, [%1], 0;\n"
        "selp.u32 %0, 1, 0, over;\n"
        "}\n"
        : "=r"(over)
        : "r"(address)
        : "memory");
  if (threadIdx.x == 0) done[blockIdx.x + gridDim.x * blockIdx.y] = 1.0f;
  cluster.sync();
}

int main() {
  float* done;
  cudaMalloc(&done, 64 * 3 * sizeof(float));
  cudaFuncSetAttribute(wait_for_own_mailbox, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  cudaLaunchAttribute size;
  size.id = cudaLaunchAttributeClusterDimension;
  size.val.clusterDim.x = 16, size.val.clusterDim.y = size.val.clusterDim.z = 1;
  cudaLaunchConfig_t launch = {};
  launch.gridDim = dim3(64, 3), launch.blockDim = dim3(224), launch.attrs = &size, launch.numAttrs = 1;
  cudaError_t error = cudaSuccess;
  for (int i = 0; i < 20 && error == cudaSuccess; ++i) {
    error = cudaLaunchKernelEx(&launch, wait_for_own_mailbox, done);
    if (error == cudaSuccess) error = cudaDeviceSynchronize();
  }
  std::puts(cudaGetErrorString(error));
  return error != cudaSuccess;
}
