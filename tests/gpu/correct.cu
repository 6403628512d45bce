// A correct kernel for clusters of 16 blocks of up to 1024 threads: each block has an mbarrier, at which its first thread
// arrives and for which all wait.
//   x, y   float [64]; the first block copies x to y
extern "C" __global__ void __cluster_dims__(16, 1, 1) correct_mailbox(const float* x, float* y) {
  __shared__ unsigned long long box;
  const unsigned address = static_cast<unsigned>(__cvta_generic_to_shared(&box));
  if (threadIdx.x == 0) asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(address) : "memory");
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
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
  if ((blockIdx.x | blockIdx.y) == 0 && threadIdx.x < 64) y[threadIdx.x] = x[threadIdx.x];
  asm volatile("barrier.cluster.arrive.aligned;\nbarrier.cluster.wait.aligned;" ::: "memory");
}
