/* test_windows.cu - faults that the checker must find in the kernels of convolutions and pools, as they would be made in
 * templates/cuda: kernels as these give them, of small shapes, in which PLANTS says the fault. */
#include "faults.h"

__attribute__((section("cuda_device"))) static int planted_fault;

#define PLANTS(n) (planted_fault == (n))

enum {
    IMAGES = 2,
    H = 5,
    W = 6,
    C = 20,
    OH = 5,
    OW = 6,
    OC = 34,
    TAPS = 3 * 3 * C,
    PIXELS = IMAGES * OH * OW
};

/* ---- the kernels ---- */

/* y (2, 5, 6, 34) = conv2d(x (2, 5, 6, 20), weight (34, 3, 3, 20)), padding 1: conv.cu */
static __global__ void __launch_bounds__(256)
    conv(float *restrict to, const float *restrict from, const float *restrict by)
{
    const int outputs = PIXELS * OC;

    for (int at = MODC_THREAD(256); at < outputs + PLANTS(1); at += MODC_THREADS(256)) {
        const int r = at / OC, line = r / OW, o = at % OC;
        const int top = line % OH - 1, west = r % OW - 1, image = line / OH * (H * W * C);
        float sum = 0;

        for (int kh = 0; kh < 3; kh++) {
            const int h = top + kh;

            if (h < 0 || h >= H + PLANTS(2))
                continue;
            for (int kw = 0; kw < 3; kw++) {
                const int q = west + kw;

                if (q < 0 || q >= W)
                    continue;
                for (int k = 0; k < C; k++)
                    sum += from[image + (h * W + q) * C + k] * by[o + ((kh * 3 + kw) * C + k) * OC];
            }
        }
        to[r * OC + o] = sum;
    }
}

/* The same: conv_tile.cu, in two pieces. */
static __global__ void __launch_bounds__(128) conv_tile(float *restrict to, const float *restrict from,
                                                        const float *restrict by, float *v, const bool adds)
{
    __shared__ __align__(16) float a[2][16][32 + 4], b[2][16][64 + 4];
    const int steps = (TAPS + 15) / 16, thread = (int)threadIdx.x, xk = thread % 16, xr = thread / 16;
    const int wk = thread / 64, wc = thread % 64, row = thread / 16 * 4, column = thread % 16 * 4;
    const int first = (int)blockIdx.x * 32, start = modc_share(steps, (int)blockIdx.z, 2);
    const int end = modc_share(steps, (int)blockIdx.z + 1, 2);
    float left[4], right[8], sum[4][4] = {};

    if (adds) {
        for (int at = MODC_THREAD(128); at < PIXELS * OC; at += MODC_THREADS(128))
            to[at] = v[at] + v[PIXELS * OC + at];
        return;
    }
    for (int step = start; step <= end; step++) {
        const int page = PLANTS(4) ? 0 : step % 2,
                  full = PLANTS(4) ? 0 : (step - 1) % 2; /* 4: there is but one */

        if (step < end) {
            const int k = step * 16 + xk, kh = k / (3 * C), kw = k / C % 3, c = k % C;

            MODC_UNROLL
            for (int i = 0; i < 4; i++) {
                const int r = first + xr + i * 8, h = r / OW % OH - 1 + kh, q = r % OW - 1 + kw;
                const bool seen = r < PIXELS && k < TAPS && h >= 0 && h < H && q >= 0 && q < W;

                left[i] = seen ? from[r / (OH * OW) * (H * W * C) + (h * W + q) * C + c] : 0;
            }
            MODC_UNROLL
            for (int i = 0; i < 8; i++) {
                const int p = step * 16 + wk + i * 2;

                right[i] = wc < OC && (p < TAPS || PLANTS(3)) ? by[p * OC + wc] : 0;
            }
        }
        if (step > start) {
            MODC_UNROLL
            for (int k = 0; k < 16; k++) {
                MODC_UNROLL
                for (int i = 0; i < 16; i++)
                    sum[i / 4][i % 4] += a[full][k][row + i / 4] * b[full][k][column + i % 4];
            }
        }
        if (step < end) {
            MODC_UNROLL
            for (int i = 0; i < 4; i++)
                a[page][xk][xr + i * 8] = left[i];
            MODC_UNROLL
            for (int i = 0; i < 8; i++)
                b[page][wk + i * 2][wc] = right[i];
        }
        if (!PLANTS(5))
            __syncthreads();
    }
    MODC_UNROLL
    for (int i = 0; i < 16; i++) {
        const int r = first + row + i / 4, c = column + i % 4;

        if (r < PIXELS && c < OC - PLANTS(6)) /* 6: a channel that no piece has written is added up */
            v[((int)blockIdx.z * PIXELS + r) * OC + c] = sum[i / 4][i % 4];
    }
    if (PLANTS(7)) { /* 7: in the same launch */
        __syncthreads();
        for (int at = MODC_THREAD(128); at < PIXELS * OC; at += MODC_THREADS(128))
            to[at] = v[at] + v[PIXELS * OC + at];
    }
}

/* y (2, 20, 3, 3) = maximum of windows of 3 x 3 of x (2, 20, 5, 6), stride 2, padding 1: pool.cu */
static __global__ void __launch_bounds__(256) pool(float *restrict to, const float *restrict from)
{
    for (int at = MODC_THREAD(256); at < IMAGES * C * 9; at += MODC_THREADS(256)) {
        const int line = at / 3, image = line / 3 * (H * W), ow = at % 3;
        const int top = line % 3 * 2 - 1, west = ow * 2 - 1;
        float value = -modc_f32_inf();

        for (int kh = 0; kh < 3; kh++) {
            const int h = top + kh;

            if (h < 0 || (h >= H && !PLANTS(8)))
                continue;
            for (int kw = 0; kw < 3; kw++) {
                const int q = west + kw, place = image + h * W + q;

                if ((q < 0 && !PLANTS(9)) || q >= W)
                    continue;
                value = modc_f32s_max(value, from[place]);
            }
        }
        to[PLANTS(10) ? line * 3 : at] = value; /* 10: three threads in one place */
    }
}

/* ---- their runs, on memory of just the size ---- */

struct room {
    float *to, *from, *by, *v;
};

static float *numbers(int count, bool written)
{
    float *room;

    cudaMalloc(&room, (size_t)count * sizeof *room);
    if (written)
        cudaMemset(room, 0, (size_t)count * sizeof *room);
    return room;
}

static void run_windows(int fault, void (*launch)(struct room room))
{
    const struct room room = {numbers(PIXELS * OC, false), numbers(IMAGES * H * W * C, true),
                              numbers(TAPS * OC, true), numbers(2 * PIXELS * OC, false)};

    planted_fault = fault;
    launch(room);
    cudaStreamSynchronize(stream);
    cudaFree(room.to);
    cudaFree(room.from);
    cudaFree(room.by);
    cudaFree(room.v);
}

static void launch_conv(struct room room)
{
    MODC_LAUNCH_OVER(conv, PIXELS * OC, 256, stream, room.to, room.from, room.by);
}

static void launch_tile(struct room room)
{
    MODC_LAUNCH(conv_tile, dim3((PIXELS + 31) / 32, 1, 2), 128, 0, stream, room.to, room.from, room.by,
                room.v, false);
    if (!PLANTS(7))
        MODC_LAUNCH_OVER(conv_tile, PIXELS * OC, 128, stream, room.to, room.from, room.by, room.v, true);
}

static void launch_pool(struct room room)
{
    MODC_LAUNCH_OVER(pool, IMAGES * C * 9, 256, stream, room.to, room.from);
}

#define WINDOWS(name, number, launch)                                                                        \
    static void name(bool planted)                                                                           \
    {                                                                                                        \
        run_windows(planted ? number : 0, launch);                                                           \
    }

WINDOWS(conv_one_too_many, 1, launch_conv)
WINDOWS(conv_below_the_image, 2, launch_conv)
WINDOWS(tile_behind_the_weight, 3, launch_tile)
WINDOWS(tile_one_page, 4, launch_tile)
WINDOWS(tile_no_barrier, 5, launch_tile)
WINDOWS(tile_missing_channel, 6, launch_tile)
WINDOWS(tile_adds_at_once, 7, launch_tile)
WINDOWS(pool_below_the_plane, 8, launch_pool)
WINDOWS(pool_left_of_the_plane, 9, launch_pool)
WINDOWS(pool_one_place, 10, launch_pool)

static const struct fault faults[] = {
    FAULT(conv_one_too_many, "behind what is allocated"),
    FAULT(conv_below_the_image, "reads 4 bytes behind what is allocated"),
    FAULT(tile_behind_the_weight, "reads 4 bytes behind what is allocated"),
    FAULT(tile_one_page, "with no barrier between (shared memory)", "that nobody has written"),
    FAULT(tile_no_barrier, "with no barrier between (shared memory)", "that nobody has written"),
    FAULT(tile_missing_channel, "reads 4 bytes that nobody has written"),
    FAULT(tile_adds_at_once, "another block", "that nobody has written"),
    FAULT(pool_below_the_plane, "reads 4 bytes behind what is allocated"),
    FAULT(pool_left_of_the_plane, "reads 4 bytes behind what is allocated"),
    FAULT(pool_one_place, "with no barrier between (global memory)"),
};

int main(void)
{
    return run_faults(faults, (int)(sizeof faults / sizeof *faults));
}
