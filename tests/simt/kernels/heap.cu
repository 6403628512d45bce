// Memory that kernels allocate themselves.
struct Item {
    int value;
    Item* next;
};

// Each thread keeps a list of n items, sums it, and gives it back.
extern "C" __global__ void lists(int* y, int n) {
    Item* head = nullptr;
    for (int k = 0; k < n + (int)threadIdx.x % 3; ++k) head = new Item{k * (int)(threadIdx.x + 1), head};
    int sum = 0;
    while (head) {
        sum += head->value;
        Item* next = head->next;
        delete head;
        head = next;
    }
    y[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

// A block's array, shared by its threads; what is left stays for the next kernel.
extern "C" __global__ void keeps(float** kept, int n) {
    __shared__ float* array;
    if (threadIdx.x == 0) array = (float*)malloc(n * sizeof(float));
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += blockDim.x) array[i] = blockIdx.x + i;
    if (threadIdx.x == 0) kept[blockIdx.x] = array;
}

extern "C" __global__ void gives_back(float** kept, float* y, int n) {
    for (int i = threadIdx.x; i < n; i += blockDim.x) y[blockIdx.x * n + i] = kept[blockIdx.x][i];
    __syncthreads();
    if (threadIdx.x == 0) free(kept[blockIdx.x]);
}

extern "C" __global__ void takes_all(unsigned long long* y, unsigned long long bytes) {
    for (int k = 0; k < 8; ++k) y[k] = (unsigned long long)malloc(bytes);
    for (int k = 0; k < 8; ++k)
        if (k % 2) free((void*)y[k]);
    y[8] = (unsigned long long)malloc(bytes / 2);
}

// ---- Mistakes -----------------------------------------------------------------------------------

extern "C" __global__ void frees(char* y, int which) {
    char* taken = (char*)malloc(64);
    if (which == 0) free(taken);
    free(which == 2 ? taken + 16 : which == 3 ? y : taken);
}

extern "C" __global__ void reads_first(int* y) {
    volatile int* taken = (int*)malloc(4 * 32);
    taken[threadIdx.x] = 1;
    free((void*)taken);
    taken = (int*)malloc(4 * 32);
    y[threadIdx.x] = taken[threadIdx.x];
}
