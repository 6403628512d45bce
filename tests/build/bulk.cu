extern "C" __global__ void __cluster_dims__(2, 1, 1) k(const float* x, float* y) {
  __shared__ alignas(128) float mine[128];
  __shared__ alignas(8) unsigned long long counted;
  unsigned barrier = (unsigned)__cvta_generic_to_shared(&counted), own = (unsigned)__cvta_generic_to_shared(mine);
  unsigned remote;
  if (threadIdx.x == 0) {
    asm volatile("mbarrier.init.shared::cta.b64 [%0], 1;" :: "r"(barrier));
    asm volatile("fence.mbarrier_init.release.cluster;");
    asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], 512;" :: "r"(barrier));
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], 512, [%2];"
                 :: "r"(own), "l"(x), "r"(barrier) : "memory");
  }
  __syncthreads();
  asm volatile("{\n.reg .pred p;\nwaiting:\n"
               "mbarrier.try_wait.parity.shared::cta.b64 p, [%0], 0;\n@!p bra waiting;\n}" :: "r"(barrier));
  asm volatile("mapa.shared::cluster.u32 %0, %1, 1;" : "=r"(remote) : "r"(own));
  asm volatile("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.add.u32 [%0], %1, [%2];"
               :: "r"(remote), "r"(1), "r"(barrier));
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], 512;" :: "l"(y), "r"(own) : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group.read 0;");
}
