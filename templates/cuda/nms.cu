/* y (T_k + 1): the numbers of at most T_k boxes of x (T_n, 4), each the first of those that are left in the order p (T_n) which
 * overlaps none before it by more than the threshold; then -1, and last how many they are. The overlap of two boxes, (x1, y1,
 * x2, y2), is the area that they share over that of both together. One block, whose threads hold a box against those that stay. Fits:
 * contiguous values; T_n may be a size. */
MODC_DEVICE T_boxes T_NAME_overlap(const T_of_x *const a, const T_of_x *const b)
{
    const T_boxes left = T_GET(x, a[0]) > T_GET(x, b[0]) ? T_GET(x, a[0]) : T_GET(x, b[0]);
    const T_boxes top = T_GET(x, a[1]) > T_GET(x, b[1]) ? T_GET(x, a[1]) : T_GET(x, b[1]);
    const T_boxes right = T_GET(x, a[2]) < T_GET(x, b[2]) ? T_GET(x, a[2]) : T_GET(x, b[2]);
    const T_boxes bottom = T_GET(x, a[3]) < T_GET(x, b[3]) ? T_GET(x, a[3]) : T_GET(x, b[3]);
    const T_boxes shared = (right > left ? right - left : 0) * (bottom > top ? bottom - top : 0);
    const T_boxes first = (T_GET(x, a[2]) - T_GET(x, a[0])) * (T_GET(x, a[3]) - T_GET(x, a[1]));
    const T_boxes second = (T_GET(x, b[2]) - T_GET(x, b[0])) * (T_GET(x, b[3]) - T_GET(x, b[1]));

    return shared / (first + second - shared);
}

T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    int count = 0;

    for (int i = 0; i < T_n && count < T_k; i++) {
        bool falls = false;

        for (int j = (int)threadIdx.x; j < count && !falls; j += 256)
            falls = T_NAME_overlap(x + 4 * y[j], x + 4 * p[i]) > T_GET(threshold, threshold[0]);
        if (__syncthreads_or(falls))
            continue;
        if (threadIdx.x == 0)
            y[count] = p[i];
        count++;
        __syncthreads();
    }
    for (int i = count + (int)threadIdx.x; i < T_k; i += 256)
        y[i] = -1;
    if (threadIdx.x == 0)
        y[T_k] = count;
}

T_LAUNCHER
{
    return MODC_LAUNCH(T_NAME, 1, 256, 0, T_STREAM, T_ARGUMENTS);
}
