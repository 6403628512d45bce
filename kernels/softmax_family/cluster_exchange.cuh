// The blocks of a cluster (sm_90) write pairs of floats into each other's shared memory, where an mbarrier counts the bytes that have
// arrived, so a thread waits only for what it needs. A release at the cluster's barrier would wait for all earlier writes of
// the thread, results included.
//   use    all threads call open_mailbox once, and cluster_wait before the first pair is sent. In every exchange each sender
//          sends to each block, one thread expects the bytes of all senders, and each reader awaits the exchange's parity
//   order  expect may follow the first arrivals: the exchange does not end before it
//   reuse  a place may be sent to again one exchange later, once something has arrived from every block since
// GPUs without clusters call nothing of this.
#pragma once

using Mailbox = unsigned long long;  // an mbarrier in shared memory: bytes that have not arrived, and the exchange's parity

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned shared_address(const void* place) {
  return static_cast<unsigned>(__cvta_generic_to_shared(place));
}

__device__ __forceinline__ int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Initialises the mailbox, and arrives at the cluster's barrier.
__device__ __forceinline__ void open_mailbox(Mailbox* box) {
  if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(box)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncwarp();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// Waits until every block of the cluster has opened its mailbox.
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Writes a value to the same place in the shared memory of another block, or of this one.
template <typename Pair>
__device__ __forceinline__ void send(Pair* place, int rank, const Pair& value, Mailbox* box) {
  static_assert(sizeof(Pair) == sizeof(float2), "a pair is two floats");
  const float2& pair = reinterpret_cast<const float2&>(value);
  unsigned remote, remote_box;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address(place)), "r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_box) : "r"(shared_address(box)), "r"(rank));
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(remote),
               "f"(pair.x), "f"(pair.y), "r"(remote_box)
               : "memory");
}

// Sets how many bytes end the exchange; those that arrived before this count. Call it after cluster_wait; one thread acts.
__device__ __forceinline__ void expect(Mailbox* box, int bytes) {
  if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(box)), "r"(bytes) : "memory");
}

// Waits for the end of an exchange: the first has parity 0, the next 1, then 0 again.
__device__ __forceinline__ void await(Mailbox* box, unsigned parity) {
  unsigned over = 0;
  while (over == 0)
    asm volatile(
        "{\n"
        ".reg .pred over;\n"
        "mbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 over, [%1], %2;\n"
        "selp.u32 %0, 1, 0, over;\n"
        "}\n"
        : "=r"(over)
        : "r"(shared_address(box)), "r"(parity)
        : "memory");
}
#else
__device__ __forceinline__ int cluster_rank() { return 0; }
__device__ __forceinline__ void open_mailbox(Mailbox*) {}
__device__ __forceinline__ void cluster_wait() {}
template <typename Pair>
__device__ __forceinline__ void send(Pair*, int, const Pair&, Mailbox*) {}
__device__ __forceinline__ void expect(Mailbox*, int) {}
__device__ __forceinline__ void await(Mailbox*, unsigned) {}
#endif
