/* faults_rare.h - part of test_faults.cu: faults as they would be made in the templates of what samples, suppresses, aligns and factors.
 * N, x, y and stream are that file's. */
#ifndef FAULTS_RARE_H
#define FAULTS_RARE_H

/* ---- as they would be made in templates/cuda: grid_sample, roi_align, nms, ctc ---- */

/* Places between the elements of a line, of two taps. 1: the last tap is outside. */
static __global__ void samples(float *to, const float *from, int fault)
{
    const int i = (int)threadIdx.x, cell = i + 1;

    to[i] = 0.5f * from[i] + 0.5f * (cell < N + (fault == 1) ? from[cell] : 0.0f);
}

/* Their slopes. 1: a thread a place, where several places add to an element; else one goes over all. */
static __global__ void slopes_of_samples(float *to, const float *from, int fault)
{
    const int begin = fault == 1 ? (int)threadIdx.x : 0, end = fault == 1 || threadIdx.x > 0 ? begin + 1 : 8;

    for (int i = begin; i < end && (fault == 1 || threadIdx.x == 0); i++) {
        to[i] += 0.5f * from[i];
        to[i + 1] += 0.5f * from[i];
    }
}

static void grid_outside(bool planted)
{
    MODC_LAUNCH(samples, 1, N, 0, stream, y, x, planted);
}

static void grid_by_places(bool planted)
{
    MODC_LAUNCH(slopes_of_samples, 1, 8, 0, stream, y, x, planted);
}

/* The part of a box at the end of a line. 1: its second element is not kept inside. 2: what is added to was not cleared. */
static __global__ void part_of_box(float *to, const float *from, int fault)
{
    const int low = N - 1, high = fault == 1 ? low + 1 : modc_min(low + 1, N - 1);

    if (fault != 2)
        to[0] = 0;
    to[1] = to[0] + 0.25f * from[low] +
            0.75f * from[high]; /* clang does not see a read in front of a write to the same */
}

static void box_outside(bool planted)
{
    MODC_LAUNCH(part_of_box, 1, 1, 0, stream, y, x, planted ? 1 : 0);
}

static void box_not_cleared(bool planted)
{
    cuda_host_forget(y, sizeof *y);
    MODC_LAUNCH(part_of_box, 1, 1, 0, stream, y, x, planted ? 2 : 0);
}

/* Of numbers those that are further from all that stay. 1: no barrier behind what stays. 2: each thread goes by what it saw itself. */
static __global__ void those_that_stay(float *kept, const float *from, int fault)
{
    int count = 0;

    for (int i = 0; i < 16; i++) {
        bool falls = false;

        for (int j = (int)threadIdx.x; j < count; j += 64)
            falls |= fabsf(kept[j] - from[i]) < 1.5f;
        if (fault == 2 ? falls : __syncthreads_or(falls))
            continue;
        if (threadIdx.x == 0)
            kept[count] = from[i];
        count++;
        if (fault != 1)
            __syncthreads();
    }
}

static void nms_no_barrier(bool planted)
{
    MODC_LAUNCH(those_that_stay, 1, 64, 0, stream, y, x, planted ? 1 : 0);
}

static void nms_alone(bool planted)
{
    MODC_LAUNCH(those_that_stay, 1, 64, 0, stream, y, x, planted ? 2 : 0);
}

/* States step by step, of two steps in turn. 1: no barrier between steps. 2: over those of the step before. */
static __global__ void states_in_turn(float *work, const float *from, int fault)
{
    const int s = (int)threadIdx.x;

    work[s] = from[s];
    __syncthreads();
    for (int t = 1; t < 4; t++) {
        const float *const before = work + (fault == 2 ? 0 : (t - 1) % 2 * 64);
        float *const at = work + (fault == 2 ? 0 : t % 2 * 64);

        at[s] = before[s] + (s > 0 ? before[s - 1] : 0.0f);
        if (fault != 1)
            __syncthreads();
    }
}

static void ctc_no_barrier(bool planted)
{
    MODC_LAUNCH(states_in_turn, 1, 64, 0, stream, y, x, planted ? 1 : 0);
}

static void ctc_in_place(bool planted)
{
    MODC_LAUNCH(states_in_turn, 1, 64, 0, stream, y, x, planted ? 2 : 0);
}

/* ---- and the matrices of a block: 8 x 8, in the first 64 elements ---- */

/* A column after the other, each by what its diagonal became. 1: no barrier in front of that. 2: none behind the column. */
static __global__ void columns_by_diagonal(float *l, const float *a, int fault)
{
    __shared__ float diagonal;
    const int i = (int)threadIdx.x;

    for (int j = 0; j < 8; j++) {
        float sum = a[i * 8 + j] + 1;

        for (int k = 0; k < j; k++)
            sum -= l[i * 8 + k] * l[j * 8 + k];
        if (i == j)
            diagonal = sum;
        if (fault != 1)
            __syncthreads();
        l[i * 8 + j] = sum / diagonal;
        if (fault != 2)
            __syncthreads();
    }
}

static void cholesky_diagonal(bool planted)
{
    MODC_LAUNCH(columns_by_diagonal, 1, 8, 0, stream, y, x, planted ? 1 : 0);
}

static void cholesky_column(bool planted)
{
    MODC_LAUNCH(columns_by_diagonal, 1, 8, 0, stream, y, x, planted ? 2 : 0);
}

/* Rows of 16 columns, each taken from those behind it. 1: no barrier behind its division. 2: one row too many. */
static __global__ void rows_taken(float *r, const float *a, int fault)
{
    for (int s = 0; s < 8; s++) {
        for (int j = (int)threadIdx.x; j < 16; j += 32)
            r[s * 16 + j] /= a[s * 8 + s] + 1;
        if (fault != 1)
            __syncthreads();
        for (int at = (int)threadIdx.x; at < (7 - s + (fault == 2)) * 16; at += 32)
            r[(s + 1 + at / 16) * 16 + at % 16] -= a[(s + at / 16) * 8] * r[s * 16 + at % 16];
        __syncthreads();
    }
}

static void triangular_no_barrier(bool planted)
{
    MODC_LAUNCH(rows_taken, 1, 32, 0, stream, y, x, planted ? 1 : 0);
}

static void triangular_too_far(bool planted)
{
    MODC_LAUNCH(rows_taken, 1, 32, 0, stream, y, x, planted ? 2 : 0);
}

/* The row of the largest element of a column, which a warp looks for, changes places with the first. 1: it is not waited for. 2: nor are
 * the rows. */
static __global__ void exchanged(float *a, const float *from, int fault)
{
    __shared__ int pivot;
    const int j = (int)threadIdx.x;

    for (int at = j; at < 64; at += 64)
        a[at] = from[at];
    __syncthreads();
    if (j < 32) {
        float size = j < 8 ? a[j * 8] : -1.0f;
        int at = j;

        for (int d = 16; d > 0; d /= 2) {
            const float theirs = __shfl_xor_sync(MODC_WARP, size, d);
            const int place = __shfl_xor_sync(MODC_WARP, at, d);

            at = theirs > size ? place : at;
            size = theirs > size ? theirs : size;
        }
        if (j == 0)
            pivot = at;
    }
    if (fault != 1)
        __syncthreads();
    if (j < 8) {
        const float kept = a[j];

        a[j] = a[pivot * 8 + j];
        a[pivot * 8 + j] = kept;
    }
    if (fault != 2)
        __syncthreads();
    if (j >= 8)
        a[j] -= a[j % 8];
}

static void solve_pivot(bool planted)
{
    MODC_LAUNCH(exchanged, 1, 64, 0, stream, y, x, planted ? 1 : 0);
}

static void solve_rows(bool planted)
{
    MODC_LAUNCH(exchanged, 1, 64, 0, stream, y, x, planted ? 2 : 0);
}

/* A square, by way of the other 64 elements. 1: these are read before all are there. 2: it is made where its factors are. */
static __global__ void squared(float *a, const float *from, int fault)
{
    const int at = (int)threadIdx.x;
    float *const product = fault == 2 ? a : a + 64, sum = 0;

    a[at] = from[at];
    __syncthreads();
    for (int k = 0; k < 8; k++)
        sum += a[at / 8 * 8 + k] * a[k * 8 + at % 8];
    product[at] = sum;
    if (fault != 1)
        __syncthreads();
    a[at] = product[63 - at];
}

static void exp_too_early(bool planted)
{
    MODC_LAUNCH(squared, 1, 64, 0, stream, y, x, planted ? 1 : 0);
}

static void exp_in_place(bool planted)
{
    MODC_LAUNCH(squared, 1, 64, 0, stream, y, x, planted ? 2 : 0);
}

#define RARE_FAULTS                                                                                          \
    FAULT(grid_outside, "behind what is allocated"),                                                         \
        FAULT(grid_by_places, "with no barrier between (global memory)"),                                    \
        FAULT(box_outside, "behind what is allocated"),                                                      \
        FAULT(box_not_cleared, "reads 4 bytes that nobody has written"),                                     \
        FAULT(nms_no_barrier, "with no barrier between (global memory)"),                                    \
        FAULT(nms_alone, "with no barrier between (global memory)", "the others have ended"),                \
        FAULT(ctc_no_barrier, "with no barrier between (global memory)"),                                    \
        FAULT(ctc_in_place, "with no barrier between (global memory)"),                                      \
        FAULT(cholesky_diagonal, "that nobody has written", "with no barrier between (shared memory)"),      \
        FAULT(cholesky_column, "with no barrier between (global memory)",                                    \
              "with no barrier between (shared memory)"),                                                    \
        FAULT(triangular_no_barrier, "with no barrier between (global memory)"),                             \
        FAULT(triangular_too_far, "behind what is allocated"),                                               \
        FAULT(solve_pivot, "that nobody has written", "with no barrier between"),                            \
        FAULT(solve_rows, "with no barrier between (global memory)"),                                        \
        FAULT(exp_too_early, "with no barrier between (global memory)"),                                     \
        FAULT(exp_in_place, "with no barrier between (global memory)")

#endif
