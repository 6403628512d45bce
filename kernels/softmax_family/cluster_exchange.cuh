// The blocks of a cluster (sm_90) put pairs into each other's shared memory, where a barrier counts the bytes that have come: a
// thread waits for nothing but what it needs. A release at a cluster's barrier would wait for all that the thread has written
// before, results too.
//   use    open_mailbox by all threads, once; cluster_wait by all before the first pair is sent. Then for every exchange: every
//          sender sends to each block, one thread expects the bytes of all senders, every reader awaits the exchange's parity
//   order  bytes may be expected after some have come: the exchange is not over before that
//   reuse  places that are sent to may be used again one exchange later, once every block has been heard from since
// On a GPU without clusters nothing of this is called.
#pragma once
#include "softmax_family/algebra.cuh"

using Mailbox = unsigned long long;  // in shared memory: bytes that are yet to come, and the parity of the exchange

#if __CUDA_ARCH__ >= 900
__device__ __forceinline__ unsigned shared_address(const void* place) {
  return static_cast<unsigned>(__cvta_generic_to_shared(place));
}

__device__ __forceinline__ int cluster_rank() {
  int rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}

// Made ready for exchanges, and told to the other blocks.
__device__ __forceinline__ void open_mailbox(Mailbox* box) {
  if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" ::"r"(shared_address(box)) : "memory");
    asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  }
  __syncwarp();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
}

// Every block runs and has opened its mailbox.
__device__ __forceinline__ void cluster_wait() { asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory"); }

// Puts a value into the same place of another block's shared memory, or of the own.
__device__ __forceinline__ void send(MaxSum* place, int rank, MaxSum value, Mailbox* box) {
  unsigned remote, remote_box;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote) : "r"(shared_address(place)), "r"(rank));
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(remote_box) : "r"(shared_address(box)), "r"(rank));
  asm volatile("st.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v2.f32 [%0], {%1, %2}, [%3];" ::"r"(remote),
               "f"(value.max), "f"(value.sum), "r"(remote_box)
               : "memory");
}

// The exchange is over when so many bytes have come, also before this. After cluster_wait; one thread says it for all.
__device__ __forceinline__ void expect(Mailbox* box, int bytes) {
  if ((threadIdx.x | threadIdx.y | threadIdx.z) == 0)
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_address(box)), "r"(bytes) : "memory");
}

// Waits for an exchange: the first has parity 0, the next 1, and so on in turn.
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
__device__ __forceinline__ void send(MaxSum*, int, MaxSum, Mailbox*) {}
__device__ __forceinline__ void expect(Mailbox*, int) {}
__device__ __forceinline__ void await(Mailbox*, unsigned) {}
#endif
