/* y (T_k + 1): the numbers of at most T_k boxes of x (T_n, 4), each the first of those that are left in the order p (T_n) which
 * overlaps none before it by more than the threshold; then -1, and last how many they are. The overlap of two boxes, (x1, y1,
 * x2, y2), is the area that they share over that of both together. Fits: contiguous values; T_n may be a size. */
MODC_INLINE T_boxes T_NAME_overlap(const T_of_x *const a, const T_of_x *const b)
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
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const int64_t *restrict p,
                        const T_of_threshold *restrict threshold T_ARGS)
{
    int count = 0;

    for (int i = 0; i < T_n && count < T_k; i++) {
        bool stays = true;

        for (int j = 0; j < count && stays; j++)
            stays = !(T_NAME_overlap(x + 4 * y[j], x + 4 * p[i]) > T_GET(threshold, threshold[0]));
        if (stays)
            y[count++] = p[i];
    }
    for (int i = count; i < T_k; i++)
        y[i] = -1;
    y[T_k] = count;
}
