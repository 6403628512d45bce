// Accesses to shared memory that are correct, that are races which programs rely on, and that are errors.
//   x   int [threads]
//   y   int [threads]

// ---- correct -------------------------------------------------------------------------------------

extern "C" __global__ void bitonic_sort(const int* x, int* y, int n) {
  extern __shared__ int slots[];
  const int i = threadIdx.x;
  slots[i] = x[i];
  for (int size = 2; size <= n; size *= 2) {
    for (int stride = size / 2; stride > 0; stride /= 2) {
      __syncthreads();
      const int j = i ^ stride;
      if (j > i) {
        const int a = slots[i], b = slots[j];
        if ((a > b) == ((i & size) == 0)) {
          slots[i] = b;
          slots[j] = a;
        }
      }
    }
  }
  __syncthreads();
  y[i] = slots[i];
}

extern "C" __global__ void odd_even_sort(const int* x, int* y, int n) {
  extern __shared__ int slots[];
  const int i = threadIdx.x;
  slots[i] = x[i];
  for (int step = 0; step < n; ++step) {
    __syncthreads();
    const int j = 2 * i + step % 2;
    if (j + 1 < n && slots[j] > slots[j + 1]) {
      const int a = slots[j];
      slots[j] = slots[j + 1];
      slots[j + 1] = a;
    }
  }
  __syncthreads();
  y[i] = slots[i];
}

// The same within a warp.
extern "C" __global__ void odd_even_sort_of_a_warp(const int* x, int* y, int n) {
  extern __shared__ int slots[];
  const int i = threadIdx.x;
  slots[i] = x[i];
  for (int step = 0; step < n; ++step) {
    __syncwarp();
    const int j = 2 * i + step % 2;
    if (j + 1 < n && slots[j] > slots[j + 1]) {
      const int a = slots[j];
      slots[j] = slots[j + 1];
      slots[j + 1] = a;
    }
  }
  __syncwarp();
  y[i] = slots[i];
}

// Several warps read a word in each phase; another one writes it in the next.
extern "C" __global__ void read_by_all(const int* x, int* y, int n) {
  __shared__ int word;
  int sum = 0;
  for (int k = 0; k < n; ++k) {
    __syncthreads();
    if (threadIdx.x == k) word = x[k];
    __syncthreads();
    sum += word;
  }
  y[threadIdx.x] = sum;
}

// Halves of one word belong to different warps.
extern "C" __global__ void halves(const int* x, int* y, int n) {
  __shared__ short slots[64];
  const int i = threadIdx.x, j = i / 2 + i % 2 * 32;
  slots[j] = short(x[i]);
  slots[j] = short(slots[j] + 1);
  __syncthreads();
  y[i] = slots[j ^ 1] - 1 + n * 0;
}

// libcu++ makes such accesses of cuda::atomic.
extern "C" __global__ void acquire_and_release(const int* x, int* y, int n) {
  __shared__ int data, flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  const unsigned at = static_cast<unsigned>(__cvta_generic_to_shared(&flag));
  if (threadIdx.x == 0) {
    data = x[0];
    asm volatile("st.release.cta.shared.u32 [%0], 1;" ::"r"(at) : "memory");
  }
  if (threadIdx.x >= 32) {
    int seen = 0;
    while (!seen) asm volatile("ld.acquire.cta.shared.u32 %0, [%1];" : "=r"(seen) : "r"(at) : "memory");
    y[threadIdx.x] = data;
  }
}

// Warp 0 makes the sum 0, it and warp 1 meet, and both add to it. Warp 2 has no part in that.
extern "C" __global__ void two_of_three_warps(const int* x, int* y, int n) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  if (threadIdx.x < 64) {
    asm volatile("bar.sync 1, 64;" ::: "memory");
    atomicAdd(&sum, x[threadIdx.x]);
  }
  __syncthreads();
  y[threadIdx.x] = sum;
}

// Warp 1 writes and ends; the barrier of the others counts it as arrived.
extern "C" __global__ void ends_before_the_barrier(const int* x, int* y, int n) {
  __shared__ int kept[64];
  kept[threadIdx.x] = x[threadIdx.x];
  if (threadIdx.x >= 32) return;
  __syncthreads();
  y[threadIdx.x] = kept[threadIdx.x + 32];
}

// Lanes of a warp add to its own sum, by two instructions with nothing between them.
extern "C" __global__ void sums_of_warps(const int* x, int* y, int n) {
  __shared__ int sums[32];
  int* own = sums + threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) *own = 0;
  __syncwarp();
  if (threadIdx.x % 2) atomicAdd(own, x[threadIdx.x]);
  else atomicMax(own, 1000000 + n);
  __syncwarp();
  y[threadIdx.x] = *own >= 1000000;
}

// ---- races that programs rely on -----------------------------------------------------------------

// The loop of the CUDA C++ Programming Guide.
extern "C" __global__ void compare_and_swap_loop(const int* x, int* y, int n) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  int old = sum, assumed;  // here
  do {
    assumed = old;
    old = atomicCAS(&sum, assumed, x[threadIdx.x] + assumed);  // or here
  } while (assumed != old);
  __syncthreads();
  y[threadIdx.x] = sum;
}

extern "C" __global__ void volatile_flag(const int* x, int* y, int n) {
  __shared__ int data;
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = x[0];
    __threadfence_block();
    flag = 1;  // or here
  }
  if (threadIdx.x >= 32) {
    while (!flag) {  // here
    }
    __threadfence_block();
    y[threadIdx.x] = data;
  }
}

extern "C" __global__ void one_value(const int* x, int* y, int n) {
  __shared__ int found;
  if (threadIdx.x == 0) found = 0;
  __syncthreads();
  if (x[threadIdx.x] >= 0) found = 1;  // here
  __syncthreads();
  y[threadIdx.x] = found;
}

// ---- errors --------------------------------------------------------------------------------------

extern "C" __global__ void two_values(const int* x, int* y, int n) {
  __shared__ int found;
  if (threadIdx.x % 32 == 0) found = threadIdx.x;  // here
  __syncthreads();
  y[threadIdx.x] = found;
}

extern "C" __global__ void sum_without_a_barrier(const int* x, int* y, int n) {
  __shared__ int sum;
  if (threadIdx.x == 0) sum = 0;
  __syncthreads();
  atomicAdd(&sum, x[threadIdx.x]);  // or here
  y[threadIdx.x] = sum;             // here
}

// Each warp makes its part 0, and all add to all parts. The warp that is first adds to its own part, too.
extern "C" __global__ void histogram_without_a_barrier(const int* x, int* y, int n) {
  extern __shared__ int counts[];
  counts[threadIdx.x] = 0;
  __syncwarp();
  atomicAdd(&counts[x[threadIdx.x] % 8], 1);  // here
  __syncthreads();
  y[threadIdx.x] = counts[threadIdx.x];
}

extern "C" __global__ void flag_without_a_fence(const int* x, int* y, int n) {
  __shared__ int data;
  __shared__ volatile int flag;
  if (threadIdx.x == 0) flag = 0;
  __syncthreads();
  if (threadIdx.x == 0) {
    data = x[0];
    flag = 1;
  }
  if (threadIdx.x >= 32) {
    while (!flag) {
    }
    y[threadIdx.x] = data;  // here
  }
}

extern "C" __global__ void swaps_without_a_barrier(const int* x, int* y, int n) {
  extern __shared__ int slots[];
  const int i = threadIdx.x;
  slots[i] = x[i];
  __syncthreads();
  const int j = i ^ 1;
  if (j > i && slots[i] > slots[j]) {
    const int a = slots[i];
    slots[i] = slots[j];
    slots[j] = a;
  }
  if (i % 2 && i + 1 < n && slots[i] > slots[i + 1])  // here
    y[i] = slots[i + 1];
  else
    y[i] = slots[i];
}
