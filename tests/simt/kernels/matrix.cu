// Matrices that a warp holds together: rows by ldmatrix and stmatrix, a transpose by movmatrix, products by <mma.h>.
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <mma.h>

using namespace nvcuda;

__device__ unsigned place_of(const void* at) {
    return static_cast<unsigned>(__cvta_generic_to_shared(at));
}

// Row r of matrix m lies at the place (5 r + m) % 8 of its matrix in shared memory, 16 bytes each.
#define ROWS(name, COUNT, TRANS, LIST, VALUES, TAKEN, GIVEN)                                                        \
    extern "C" __global__ void name(const uint4* x, unsigned* y, uint4* z) {                                        \
        __shared__ uint4 from[32], to[32];                                                                           \
        const int i = threadIdx.x, mixed = i / 8 * 8 + (5 * (i % 8) + i / 8) % 8;                                    \
        from[mixed] = x[i];                                                                                          \
        __syncwarp();                                                                                                \
        unsigned r[4] = {};                                                                                          \
        asm volatile("ldmatrix.sync.aligned.m8n8." COUNT TRANS ".shared.b16 " LIST ", [%" VALUES "];"              \
                     : TAKEN : "r"(place_of(&from[mixed])) : "memory");                                             \
        for (int k = 0; k < 4; ++k) y[32 * k + i] = r[k];                                                            \
        asm volatile("stmatrix.sync.aligned.m8n8." COUNT TRANS ".shared.b16 [%0], " GIVEN ";" ::"r"(                \
                         place_of(&to[mixed])), "r"(r[0]), "r"(r[1]), "r"(r[2]), "r"(r[3]) : "memory");            \
        __syncwarp();                                                                                                \
        if (i < 8 * (COUNT[1] - '0')) z[i] = to[mixed];                                                              \
    }
#define ALL_ROWS(suffix, TRANS)                                                                                      \
    ROWS(rows_x1##suffix, "x1", TRANS, "{%0}", "1", "=r"(r[0]), "{%1}")                                             \
    ROWS(rows_x2##suffix, "x2", TRANS, "{%0, %1}", "2", "=r"(r[0]) COMMA "=r"(r[1]), "{%1, %2}")                    \
    ROWS(rows_x4##suffix, "x4", TRANS, "{%0, %1, %2, %3}", "4",                                                     \
         "=r"(r[0]) COMMA "=r"(r[1]) COMMA "=r"(r[2]) COMMA "=r"(r[3]), "{%1, %2, %3, %4}")
#define COMMA ,
ALL_ROWS(, "")
ALL_ROWS(_trans, ".trans")

extern "C" __global__ void moved(const unsigned* x, unsigned* y) {
    unsigned r;
    asm volatile("movmatrix.sync.aligned.m8n8.trans.b16 %0, %1;" : "=r"(r) : "r"(x[threadIdx.x]));
    y[threadIdx.x] = r;
}

template <int M, int N, int K, class Factor, class Stored, class Sum, class A, class B>
__device__ void multiply(const Stored* a, const Stored* b, Sum* d, int lda, int ldb, int ldd, wmma::layout_t layout) {
    wmma::fragment<wmma::matrix_a, M, N, K, Factor, A> left;
    wmma::fragment<wmma::matrix_b, M, N, K, Factor, B> right;
    wmma::fragment<wmma::accumulator, M, N, K, Sum> sum;
    wmma::load_matrix_sync(left, a, lda);
    wmma::load_matrix_sync(right, b, ldb);
    wmma::load_matrix_sync(sum, d, ldd, layout);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d, sum, ldd, layout);
}

constexpr int PADDING = 16;

template <int M, int N, int K, class Factor, class Stored, class Sum, bool ROW_A, bool ROW_B, bool ROW_D, bool SHARED>
__device__ void product(const Stored* a, const Stored* b, Sum* d) {
    using A = std::conditional_t<ROW_A, wmma::row_major, wmma::col_major>;
    using B = std::conditional_t<ROW_B, wmma::row_major, wmma::col_major>;
    constexpr int lda = (ROW_A ? K : M) + PADDING, ldb = (ROW_B ? N : K) + PADDING, ldd = (ROW_D ? N : M) + PADDING;
    constexpr int size_a = lda * (ROW_A ? M : K), size_b = ldb * (ROW_B ? K : N), size_d = ldd * (ROW_D ? M : N);
    constexpr auto layout = ROW_D ? wmma::mem_row_major : wmma::mem_col_major;
    if constexpr (SHARED) {
        __shared__ __align__(32) Stored a_shared[size_a], b_shared[size_b];
        __shared__ __align__(32) Sum d_shared[size_d];
        for (int i = threadIdx.x; i < size_a; i += 32) a_shared[i] = a[i];
        for (int i = threadIdx.x; i < size_b; i += 32) b_shared[i] = b[i];
        for (int i = threadIdx.x; i < size_d; i += 32) d_shared[i] = d[i];
        __syncwarp();
        multiply<M, N, K, Factor, Stored, Sum, A, B>(a_shared, b_shared, d_shared, lda, ldb, ldd, layout);
        __syncwarp();
        for (int i = threadIdx.x; i < size_d; i += 32) d[i] = d_shared[i];
    } else {
        multiply<M, N, K, Factor, Stored, Sum, A, B>(a, b, d, lda, ldb, ldd, layout);
    }
}

constexpr bool row = true, col = false;
#define PRODUCT_IN(kind, M, N, K, Factor, Stored, Sum, A, B, D, space, SHARED)                            \
    extern "C" __global__ void wmma_##kind##_##M##_##N##_##A##_##B##_##D##_##space(                      \
        const Stored* a, const Stored* b, Sum* d) {                                                        \
        product<M, N, K, Factor, Stored, Sum, A, B, D, SHARED>(a, b, d);                                   \
    }
#define PRODUCT(kind, M, N, K, Factor, Stored, Sum, A, B, D)                         \
    PRODUCT_IN(kind, M, N, K, Factor, Stored, Sum, A, B, D, global, false)          \
    PRODUCT_IN(kind, M, N, K, Factor, Stored, Sum, A, B, D, shared, true)
#define PRODUCTS(kind, M, N, K, Factor, Stored, Sum)                \
    PRODUCT(kind, M, N, K, Factor, Stored, Sum, row, row, row)     \
    PRODUCT(kind, M, N, K, Factor, Stored, Sum, row, col, row)     \
    PRODUCT(kind, M, N, K, Factor, Stored, Sum, col, row, row)     \
    PRODUCT(kind, M, N, K, Factor, Stored, Sum, col, col, row)

PRODUCTS(half, 16, 16, 16, half, half, float)
PRODUCTS(half, 32, 8, 16, half, half, float)
PRODUCTS(half, 8, 32, 16, half, half, float)
PRODUCTS(bfloat, 16, 16, 16, __nv_bfloat16, __nv_bfloat16, float)
PRODUCTS(signed, 16, 16, 16, signed char, signed char, int)
PRODUCTS(unsigned, 32, 8, 16, unsigned char, unsigned char, int)
PRODUCTS(tf32, 16, 16, 8, wmma::precision::tf32, float, float)
PRODUCT(half, 16, 16, 16, half, half, float, row, col, col)
PRODUCT(double, 8, 8, 4, double, double, double, row, col, row)

extern "C" __global__ void wmma_nibbles(const void* a, const void* b, int* d) {
    namespace types = wmma::experimental::precision;
    wmma::fragment<wmma::matrix_a, 8, 8, 32, types::s4, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, 32, types::s4, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, 32, int> sum;
    wmma::fill_fragment(sum, 0);
    wmma::load_matrix_sync(left, a, 32);
    wmma::load_matrix_sync(right, b, 32);
    wmma::mma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}

extern "C" __global__ void wmma_bits(const void* a, const void* b, int* d) {
    namespace types = wmma::experimental::precision;
    wmma::fragment<wmma::matrix_a, 8, 8, 128, types::b1, wmma::row_major> left;
    wmma::fragment<wmma::matrix_b, 8, 8, 128, types::b1, wmma::col_major> right;
    wmma::fragment<wmma::accumulator, 8, 8, 128, int> sum;
    wmma::fill_fragment(sum, 0);
    wmma::load_matrix_sync(left, a, 128);
    wmma::load_matrix_sync(right, b, 128);
    wmma::bmma_sync(sum, left, right, sum);
    wmma::store_matrix_sync(d, sum, 8, wmma::mem_row_major);
}
