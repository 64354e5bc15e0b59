/* test_rows.cu - faults that the checker must find in the kernels of products, softmaxes, norms and reductions, as they would be made
 * in templates/cuda and in emit_reduce.c: kernels as these give them, of small shapes, in which `planted` says the fault. */
#include "faults.h"

__attribute__((section("cuda_device"))) static int planted_fault;

#define PLANTS(n) (planted_fault == (n))

/* ---- the kernels ---- */

enum { M = 70, COLUMNS = 90, K = 40, LONG = 300, ROW = 50 };

/* y (70, 90) = x (70, 40) . w (40, 90): matmul_tiles.cu */
static __global__ void __launch_bounds__(256)
    tiles(float *restrict to, const float *restrict from, const float *restrict by)
{
    __shared__ __align__(16) float a[2][16][64 + 4], b[2][16][64 + 4];
    const int thread = (int)threadIdx.x, down = thread / 16 * 4, over = thread % 16 * 4;
    const int rows = MODC_PARTS(M, 64), columns = MODC_PARTS(COLUMNS, 64);
    int page = 0;

    for (int at = (int)blockIdx.x; at < rows * columns; at += (int)gridDim.x) {
        const int column = at % columns * 64, row = at / columns * 64;
        float sum[4][4] = {};

        for (int step = 0; step < K; step += 16) {
            MODC_UNROLL
            for (int i = 0; i < 4; i++) {
                const int r = thread / 16 + i * 16, p = thread % 16;

                a[page][p][r] = row + r < M + PLANTS(2) && step + p < K ? from[(row + r) * K + (step + p)]
                                                                        : 0;
                b[page][p][r] = column + r < COLUMNS && step + p < K ? by[(step + p) + (column + r) * K] : 0;
            }
            if (!PLANTS(1))
                __syncthreads();
            MODC_UNROLL
            for (int k = 0; k < 16; k++) {
                MODC_UNROLL
                for (int i = 0; i < 4; i++) {
                    MODC_UNROLL
                    for (int j = 0; j < 4; j++)
                        sum[i][j] += a[page][k][down + i] * b[page][k][over + j];
                }
            }
            if (!PLANTS(3))
                page ^= 1;
        }
        MODC_UNROLL
        for (int i = 0; i < 4; i++) {
            MODC_UNROLL
            for (int j = 0; j < 4; j++) {
                const int r = row + down + i, c = column + over + j;

                if (r < M && c < COLUMNS + PLANTS(4))
                    to[r * COLUMNS + c] = sum[i][j];
            }
        }
    }
}

/* y (70, 90) = x (70, 40) . w (40, 90), 8 rows at a time: matmul_dots.cu */
static __global__ void __launch_bounds__(256)
    dots(float *restrict to, const float *restrict from, const float *restrict by)
{
    const int lane = (int)threadIdx.x % 32, strips = MODC_PARTS(M, 8);

    for (int at = MODC_THREAD(256) / 32; at < strips * COLUMNS; at += MODC_THREADS(256) / 32) {
        const int j = at % COLUMNS, row = at / COLUMNS * 8;
        float sum[8] = {};

        for (int k = lane; k < K + PLANTS(5) * 8; k += 32) {
            const float b = by[k + j * K];

            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                sum[i] += row + i < M ? from[(row + i) * K + k] * b : 0;
        }
        MODC_UNROLL
        for (int i = 0; i < 8; i++) {
            float total = 0;

            if (!PLANTS(6) || lane <= i)
                total = modc_warp_sum(sum[i]);
            if (lane == i && row + i < M)
                to[(row + i) * COLUMNS + j] = total;
        }
    }
}

/* y (70, 90) = x (70, 40) . w (40, 90): matmul_plain.cu */
static __global__ void __launch_bounds__(256)
    plain(float *restrict to, const float *restrict from, const float *restrict by)
{
    const unsigned places = (unsigned)(M * COLUMNS);

    for (unsigned at = (unsigned)MODC_THREAD(256); at < places; at += (unsigned)MODC_THREADS(256)) {
        const int row = (int)(at / (unsigned)COLUMNS), j = (int)(at % (unsigned)COLUMNS);
        float sum = 0;

        for (int k = 0; k < K + PLANTS(7); k++)
            sum += from[row * K + k] * by[k + j * K];
        to[row * COLUMNS + (PLANTS(8) ? j / 2 : j)] = sum;
    }
}

/* y (70, 50) = softmax(x): softmax_warps.cu */
static __global__ void __launch_bounds__(256) softmax_warps(float *restrict to, const float *restrict from)
{
    const int lane = (int)threadIdx.x % 32;

    for (int r = MODC_THREAD(256) / 32; r < M; r += MODC_THREADS(256) / 32) {
        float v[2], most = -INFINITY, sum = 0;

        MODC_UNROLL
        for (int i = 0; i < 2; i++) {
            const int k = i * 32 + lane;

            v[i] = k < ROW + PLANTS(9) ? from[r * ROW + k] : -INFINITY;
            most = modc_nan_max(most, v[i]);
        }
        most = modc_warp_max(most);
        MODC_UNROLL
        for (int i = 0; i < 2; i++) {
            v[i] = expf(v[i] - most);
            sum += v[i];
        }
        sum = modc_warp_sum(sum);
        MODC_UNROLL
        for (int i = 0; i < 2; i++) {
            const int k = i * 32 + lane;

            if (k < ROW - PLANTS(10)) /* the last one stays unwritten */
                to[r * ROW + k] = v[i] / sum;
        }
    }
}

/* What a reduction of a block leaves in its cells, with no barrier before they are used again. */
MODC_DEVICE float at_once(float value, float *cells, const bool max)
{
    value = max ? modc_warp_max(value) : modc_warp_sum(value);
    if (threadIdx.x % 32 == 0)
        cells[threadIdx.x / 32] = value;
    __syncthreads();
    value = cells[0];
    for (int w = 1; w < 8; w++)
        value = max ? modc_nan_max(value, cells[w]) : value + cells[w];
    return value;
}

/* y (20, 300) = softmax(x), by one block: softmax_blocks.cu */
static __global__ void __launch_bounds__(256) softmax_blocks(float *restrict to, const float *restrict from)
{
    __shared__ float cells[8];

    for (int r = (int)blockIdx.x; r < 20; r += (int)gridDim.x) {
        const float *const row = from + r * LONG;
        float most = -INFINITY, sum = 0;

        for (int k = (int)threadIdx.x; k < LONG; k += 256)
            most = modc_nan_max(most, row[k]);
        most = PLANTS(11) ? at_once(most, cells, true) : modc_block_max(most, cells, 8);
        for (int k = (int)threadIdx.x; k < LONG; k += 256) {
            sum += expf(row[k] - most);
            if (PLANTS(12)) /* within the loop, which some threads leave before others */
                sum = modc_block_sum(sum, cells, 8);
        }
        sum = PLANTS(11) ? at_once(sum, cells, false) : modc_block_sum(sum, cells, 8);
        for (int k = (int)threadIdx.x; k < LONG; k += 256)
            to[r * LONG + k] = expf(row[k] - most) / sum;
    }
}

/* y (20, 6, 50) = softmax(x) along dimension 1: softmax_threads.cu */
static __global__ void __launch_bounds__(256) softmax_threads(float *restrict to, const float *restrict from)
{
    const unsigned columns = (unsigned)(20 * ROW);

    for (unsigned i = (unsigned)MODC_THREAD(256); i < columns + PLANTS(13);
         i += (unsigned)MODC_THREADS(256)) {
        const int at = (int)(i / (unsigned)ROW) * (6 * ROW) + (int)(i % (unsigned)ROW);
        float most = -INFINITY, sum = 0;

        for (int k = 0; k < 6; k++)
            most = modc_nan_max(most, from[at + k * ROW]);
        for (int k = 0; k < 6; k++)
            sum += expf(from[at + k * ROW] - most);
        for (int k = 0; k < 6; k++)
            to[at + (PLANTS(14) ? k : k * ROW)] = expf(from[at + k * ROW] - most) / sum;
    }
}

/* y (70, 50) = norm of x: layer_norm_warps.cu */
static __global__ void __launch_bounds__(256)
    norm_warps(float *restrict to, const float *restrict from, const float *restrict weight)
{
    const int lane = (int)threadIdx.x % 32;

    for (int r = MODC_THREAD(256) / 32; r < M; r += MODC_THREADS(256) / 32) {
        float v[2], sum = 0, squares = 0, mean = 0, scale;

        MODC_UNROLL
        for (int i = 0; i < 2; i++) {
            const int k = i * 32 + lane;

            v[i] = k < ROW ? from[r * ROW + k] : 0;
            sum += v[i];
        }
        if (!PLANTS(15) || lane < ROW - 32) /* lanes that have no second value stay away */
            mean = modc_warp_sum(sum) / (float)ROW;
        MODC_UNROLL
        for (int i = 0; i < 2; i++) {
            v[i] = i * 32 + lane < ROW ? v[i] - mean : 0;
            squares += v[i] * v[i];
        }
        scale = 1 / sqrtf(modc_warp_sum(squares) / (float)ROW + 1e-5f);
        MODC_UNROLL
        for (int i = 0; i < 2; i++) {
            const int k = i * 32 + lane;

            if (k < ROW)
                to[r * ROW + k] = v[i] * scale * weight[k + PLANTS(16)];
        }
    }
}

/* y (20, 300) = norm of x, by one block: layer_norm_blocks.cu */
static __global__ void __launch_bounds__(256) norm_blocks(float *restrict to, const float *restrict from)
{
    __shared__ float cells[8];

    for (int r = (int)blockIdx.x; r < 20; r += (int)gridDim.x) {
        float sum = 0, squares = 0, mean, scale;

        for (int k = (int)threadIdx.x; k < LONG; k += 256)
            sum += from[r * LONG + k];
        mean = PLANTS(17) ? at_once(sum, cells, false) : modc_block_sum(sum, cells, 8);
        mean /= (float)LONG;
        for (int k = (int)threadIdx.x; k < LONG; k += 256)
            squares += (from[r * LONG + k] - mean) * (from[r * LONG + k] - mean);
        squares = PLANTS(17) ? at_once(squares, cells, false) : modc_block_sum(squares, cells, 8);
        scale = 1 / sqrtf(squares / (float)LONG + 1e-5f);
        for (int k = (int)threadIdx.x; k < (PLANTS(18) ? 256 : LONG);
             k += 256) /* 18: the rest stays unwritten */
            to[r * LONG + k] = (from[r * LONG + k] - mean) * scale;
    }
}

/* y (90) = the sums of the columns of x (70, 90), by one block: reduce_blocks of emit_reduce.c */
static __global__ void __launch_bounds__(256) sum_columns(float *to, const float *from)
{
    __shared__ float cells[256];
    const int thread = (int)threadIdx.x;

    for (int first = (int)blockIdx.x * 8; first < COLUMNS; first += (int)gridDim.x * 8) {
        const int at = first + thread % 8;
        float sum = 0;

        if (at < COLUMNS || PLANTS(19)) {
            for (int j = thread / 8; j < M; j += 32)
                sum += from[j * COLUMNS + at];
        }
        cells[thread] = sum;
        for (int d = 128; d >= 8; d /= 2) {
            if (!PLANTS(20))
                __syncthreads();
            if (thread < d)
                cells[thread] += cells[thread + d];
        }
        if (thread < 8 && at < COLUMNS)
            to[at] = cells[thread];
        if (!PLANTS(21)) /* before the cells are used again */
            __syncthreads();
    }
}

/* ---- what runs them: in memory of just their size ---- */

static float *device(int count, bool written)
{
    float *p;

    cudaMalloc(&p, (size_t)count * sizeof *p);
    if (written)
        cudaMemsetAsync(p, 0, (size_t)count * sizeof *p, stream);
    return p;
}

static __global__ void look(float *to, const float *from, int n)
{
    for (int i = MODC_THREAD(256); i < n; i += MODC_THREADS(256))
        to[i] = from[i];
}

/* kernel: from `count` numbers to as many as `made`, of which all are read then. */
#define RUN(number, kernel, blocks, made, count, more, ...)                                                  \
    float *const from = device(count, true), *const to = device(made, false),                                \
                 *const by = device(more, true), *const seen = device(made, false);                          \
                                                                                                             \
    planted_fault = planted ? (number) : 0;                                                                  \
    MODC_LAUNCH(kernel, blocks, 256, 0, stream, __VA_ARGS__);                                                \
    MODC_LAUNCH(look, 4, 256, 0, stream, seen, to, made);                                                    \
    cudaStreamSynchronize(stream);                                                                           \
    cudaFree(from);                                                                                          \
    cudaFree(to);                                                                                            \
    cudaFree(by);                                                                                            \
    cudaFree(seen)

#define PRODUCT(name, number, kernel)                                                                        \
    static void name(bool planted)                                                                           \
    {                                                                                                        \
        RUN(number, kernel, 3, M *COLUMNS, M *K, K *COLUMNS, to, from, by);                                  \
    }
#define ROWS(name, number, kernel, blocks, count)                                                            \
    static void name(bool planted)                                                                           \
    {                                                                                                        \
        RUN(number, kernel, blocks, count, count, 1, to, from);                                              \
    }

PRODUCT(tiles_barrier, 1, tiles)
PRODUCT(tiles_row_too_far, 2, tiles)
PRODUCT(tiles_one_page, 3, tiles)
PRODUCT(tiles_column_too_far, 4, tiles)
PRODUCT(dots_too_far, 5, dots)
PRODUCT(dots_lanes, 6, dots)
PRODUCT(plain_too_far, 7, plain)
PRODUCT(plain_same_place, 8, plain)
ROWS(softmax_warps_too_far, 9, softmax_warps, 3, M *ROW)
ROWS(softmax_warps_unwritten, 10, softmax_warps, 3, M *ROW)
ROWS(softmax_blocks_cells, 11, softmax_blocks, 1, 20 * LONG)
ROWS(softmax_blocks_barrier, 12, softmax_blocks, 1, 20 * LONG)
ROWS(softmax_threads_too_far, 13, softmax_threads, 2, 20 * 6 * ROW)
ROWS(softmax_threads_places, 14, softmax_threads, 2, 20 * 6 * ROW)
ROWS(norm_blocks_cells, 17, norm_blocks, 1, 20 * LONG)
ROWS(norm_blocks_unwritten, 18, norm_blocks, 1, 20 * LONG)

static void norm_warps_lanes(bool planted)
{
    RUN(15, norm_warps, 3, M * ROW, M * ROW, ROW, to, from, by);
}

static void norm_warps_too_far(bool planted)
{
    RUN(16, norm_warps, 3, M * ROW, M * ROW, ROW, to, from, by);
}

static void sum_of_none(bool planted)
{
    RUN(19, sum_columns, 1, COLUMNS, M * COLUMNS, 1, to, from);
}

static void sum_barrier(bool planted)
{
    RUN(20, sum_columns, 1, COLUMNS, M * COLUMNS, 1, to, from);
}

static void sum_cells_again(bool planted)
{
    RUN(21, sum_columns, 1, COLUMNS, M * COLUMNS, 1, to, from);
}

/* ---- the test ---- */

#define BEHIND "behind what is allocated"
#define UNWRITTEN "that nobody has written"
#define NO_BARRIER "with no barrier between (shared memory)"

static const struct fault faults[] = {
    FAULT(tiles_barrier, UNWRITTEN, NO_BARRIER),
    FAULT(tiles_row_too_far, BEHIND),
    FAULT(tiles_one_page, NO_BARRIER),
    FAULT(tiles_column_too_far, BEHIND, "what another "),
    FAULT(dots_too_far, BEHIND),
    FAULT(dots_lanes, "mask"),
    FAULT(plain_too_far, BEHIND),
    FAULT(plain_same_place, "writes what another thread wrote", "another block"),
    FAULT(softmax_warps_too_far, BEHIND),
    FAULT(softmax_warps_unwritten, UNWRITTEN),
    FAULT(softmax_blocks_cells, NO_BARRIER),
    FAULT(softmax_blocks_barrier, "in other places", "wait at"),
    FAULT(softmax_threads_too_far, BEHIND),
    FAULT(softmax_threads_places, "writes what another thread wrote", "another block"),
    FAULT(norm_warps_lanes, "mask"),
    FAULT(norm_warps_too_far, BEHIND),
    FAULT(norm_blocks_cells, NO_BARRIER),
    FAULT(norm_blocks_unwritten, UNWRITTEN),
    FAULT(sum_of_none, BEHIND),
    FAULT(sum_barrier, UNWRITTEN, NO_BARRIER),
    FAULT(sum_cells_again, NO_BARRIER),
};

int main(void)
{
    return run_faults(faults, (int)(sizeof faults / sizeof *faults));
}
