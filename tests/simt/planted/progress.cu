// Lanes of a warp that wait for each other, as GPUs from sm_70 on let them.
//   x   int [threads]
//   y   int [threads]

// All lanes take a spin lock, one after the other.
extern "C" __global__ void lock_of_all_lanes(const int* x, int* y, int n) {
  __shared__ int lock, sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  __threadfence_block();
  sum += x[threadIdx.x];
  __threadfence_block();
  atomicExch(&lock, 0);
  __syncthreads();
  y[threadIdx.x] = sum;
}

// The same with back-off, a global lock, and a shuffle of the whole warp behind it.
extern "C" __global__ void global_lock(const int* x, int* y, int n) {
  __shared__ int seen[64];
  volatile int* sum = y + n;
  int* lock = y + n + 1;
  for (unsigned wait = 8; atomicCAS(lock, 0, 1) != 0; wait = wait < 256 ? 2 * wait : wait) __nanosleep(wait);
  __threadfence();
  const int before = *sum;
  *sum = before + x[threadIdx.x];
  __threadfence();
  atomicExch(lock, 0);
  const int mine = __shfl_xor_sync(0xffffffffu, x[threadIdx.x], 1);
  seen[threadIdx.x] = mine;
  __syncthreads();
  y[threadIdx.x] = seen[threadIdx.x ^ 1];
  if (threadIdx.x == 0) y[n] = *sum;
}

// A ticket lock: the lanes enter one after the other, in the order of their tickets.
extern "C" __global__ void tickets(const int* x, int* y, int n) {
  __shared__ int next;
  __shared__ volatile int serving;
  __shared__ volatile int sum;
  if (threadIdx.x == 0) next = serving = sum = 0;
  __syncthreads();
  const int own = atomicAdd(&next, 1);
  while (serving != own) {
  }
  __threadfence_block();
  sum = 2 * sum + x[threadIdx.x] % 2;
  __threadfence_block();
  serving = serving + 1;
  __syncthreads();
  y[threadIdx.x] = sum;
}

// Lane 0 waits for what lane 31 produces, which waits for what lane 0 produced.
extern "C" __global__ void producer_and_consumer(const int* x, int* y, int n) {
  __shared__ volatile int flag;
  __shared__ int item;
  if (threadIdx.x == 0) flag = 0;
  __syncwarp();
  int sum = 0;
  if (threadIdx.x == 0) {
    for (int k = 0; k < n; ++k) {
      while (flag != 1) {
      }
      __threadfence_block();
      sum += item;
      __threadfence_block();
      flag = 0;
    }
  } else if (threadIdx.x == 31) {
    for (int k = 0; k < n; ++k) {
      item = x[k];
      __threadfence_block();
      flag = 1;
      while (flag != 0) {
      }
      __threadfence_block();
    }
  }
  __syncwarp();
  y[threadIdx.x] = __shfl_sync(0xffffffffu, sum, 0);
}

// The lock that works without independent progress too.
extern "C" __global__ void lock_inside(const int* x, int* y, int n) {
  __shared__ int lock;
  __shared__ volatile int sum;
  if (threadIdx.x == 0) lock = sum = 0;
  __syncthreads();
  for (bool done = false; !done;) {
    if (atomicCAS(&lock, 0, 1) == 0) {
      __threadfence_block();
      sum = sum + x[threadIdx.x];
      __threadfence_block();
      atomicExch(&lock, 0);
      done = true;
    }
  }
  __syncthreads();
  y[threadIdx.x] = sum;
}

// ---- what never ends -----------------------------------------------------------------------------

extern "C" __global__ void lock_never_released(const int* x, int* y, int n) {
  __shared__ int lock;
  if (threadIdx.x == 0) lock = 0;
  __syncthreads();
  while (atomicCAS(&lock, 0, 1) != 0) {
  }
  y[threadIdx.x] = x[threadIdx.x];
}

extern "C" __global__ void flag_never_set(const int* x, int* y, int n) {
  volatile int* flag = y;
  if (threadIdx.x == n) *flag = 1;
  while (*flag == 0) {
  }
}

extern "C" __global__ void barrier_never_reached(const int* x, int* y, int n) {
  volatile int* flag = y;
  if (threadIdx.x % 32 == 31) {
    while (*flag == 0) {
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) *flag = 1;
}

extern "C" __global__ void stores_for_ever(const int* x, int* y, int n) {
  __shared__ volatile int slots[1024];
  for (int k = 0; x[threadIdx.x] >= 0; ++k) slots[(threadIdx.x * 33 + k) & 1023] = k;
}

extern "C" __global__ void counts_for_ever(const int* x, int* y, int n) {
  int* counter = y + threadIdx.x;
  while (atomicAdd(counter, 1) != -1) {
  }
}
