/* y (T_n, T_c, T_k) = images x (T_n, T_c, T_d, T_h, T_w), sampled at the places p (T_n, T_k, T_axes) of a grid, of which the first
 * number is along the last axis; T_axes 2: there is no T_d. A thread a place, of T_group channels. T_to_x: from x (T_n, T_c, T_k), the
 * slopes of such samples, those y of the images, a thread a plane, which is the only one to add to it. T_to_places: from images x and
 * slopes g those y of the places, a thread a place.
 *
 * A place is made of T_taps elements along an axis (T_mode: 0 the nearest one, 1 linear, two; 2 cubic, four), T_all in all, each
 * with its weight. T_padding: what stands outside, 0 zeros, 1 the border, 2 the image reflected. T_corners: -1 and 1 are the
 * middles of the outermost elements, not their edges. T_groups: of channels. T_index: a type that holds all places of x and y.
 * T_over_k, T_over_c: T_k and T_c, or 1 where they are 0, to divide by. Fits: contiguous values; all may be sizes. */
#if T_padding > 0
/* Into the image, NaN to its first element; *slope: how fast the result changes with a place, which at the border is not at all. */
MODC_DEVICE T_real T_NAME_inside(const T_real place, const T_real size, T_real *slope)
{
    const T_real last = size - 1;
    T_real at = place;
#if T_padding == 2
    const T_real low = T_IF(T_corners, 0, (T_real)-0.5), span = T_IF(T_corners, size > 1 ? 2 * (size - 1) : 1, 2 * size);
    const T_real off = T_S(abs)(at - low), extra = off - T_S(floor)(off / span) * span, back = span - extra;

    *slope = at < low ? -*slope : *slope;
    *slope = extra > back ? -*slope : *slope;
    at = (extra > back ? back : extra) + low;
#endif

    *slope = at > 0 && at < last ? *slope : 0;
    at = at > 0 ? at : 0;
    return at > last ? last : at;
}

#endif
/* The taps of a place along an axis: their cells, -1 outside, their weights, and how fast these change with the place. */
MODC_DEVICE void T_NAME_axis(int *cells, T_real *weights, T_real *slopes, const T_real place, const T_real size)
{
    const T_real by = T_IF(T_corners, (size - 1) / 2, size / 2);
    T_real at = (place + 1) * by - T_IF(T_corners, 0, (T_real)0.5), cell[T_taps];
#if T_mode > 0 || T_padding > 0
    T_real slope = by;
#endif

#if T_padding > 0 && T_mode < 2
    at = T_NAME_inside(at, size, &slope);
#endif
#if T_mode == 0
    cell[0] = T_IF(T_single, rintf(at), rint(at));
    weights[0] = 1;
    slopes[0] = 0;
#else
    const T_real first = T_S(floor)(at), part = at - first;
#if T_mode == 1

    cell[0] = first;
    cell[1] = first + 1;
    weights[0] = 1 - part;
    weights[1] = part;
    slopes[0] = -slope;
    slopes[1] = slope;
#else
    /* Keys' kernel with A = -0.75. */
    const T_real a = part + 1, rest = 1 - part, b = 2 - part;

    MODC_UNROLL
    for (int t = 0; t < 4; t++)
        cell[t] = first + (T_real)(t - 1);
    weights[0] = (((T_real)-0.75 * a + (T_real)3.75) * a - 6) * a + 3;
    weights[1] = ((T_real)1.25 * part - (T_real)2.25) * part * part + 1;
    weights[2] = ((T_real)1.25 * rest - (T_real)2.25) * rest * rest + 1;
    weights[3] = (((T_real)-0.75 * b + (T_real)3.75) * b - 6) * b + 3;
    slopes[0] = slope * (((T_real)-2.25 * a + (T_real)7.5) * a - 6);
    slopes[1] = slope * (((T_real)3.75 * part - (T_real)4.5) * part);
    slopes[2] = slope * (((T_real)4.5 - (T_real)3.75 * rest) * rest);
    slopes[3] = slope * (((T_real)2.25 * b - (T_real)7.5) * b + 6);
#if T_padding > 0
    MODC_UNROLL
    for (int t = 0; t < 4; t++)
        cell[t] = T_NAME_inside(cell[t], size, &slope);
#endif
#endif
#endif
    MODC_UNROLL
    for (int t = 0; t < T_taps; t++)
        cells[t] = cell[t] >= 0 && cell[t] < size ? (int)cell[t] : -1;
}

#if T_to_places
/* The taps of the place p: where they are in a plane, -1 outside, and how fast their weights change along each axis. */
#else
/* The taps of the place p: where they are in a plane, -1 outside, and their weights. */
#endif
MODC_DEVICE void T_NAME_place(int *at, T_real (*weights)[T_all], const T_of_p *restrict p T_ARGS)
{
    int cells[T_axes][T_taps];
    T_real by[T_axes][T_taps], slopes[T_axes][T_taps];

    T_NAME_axis(cells[0], by[0], slopes[0], T_GET(p, p[0]), (T_real)T_w);
    T_NAME_axis(cells[1], by[1], slopes[1], T_GET(p, p[1]), (T_real)T_h);
#if T_deep
    T_NAME_axis(cells[2], by[2], slopes[2], T_GET(p, p[2]), (T_real)T_d);
#endif
    MODC_UNROLL
    for (int t = 0; t < T_all; t++) {
        const int a = t % T_taps, b = t / T_taps % T_taps;
#if T_deep
        const int d = t / (T_taps * T_taps), outside = cells[0][a] | cells[1][b] | cells[2][d];

        at[t] = outside < 0 ? -1 : (cells[2][d] * T_h + cells[1][b]) * T_w + cells[0][a];
#else
        const int outside = cells[0][a] | cells[1][b];

        at[t] = outside < 0 ? -1 : cells[1][b] * T_w + cells[0][a];
#endif
#if T_to_places && T_deep
        weights[0][t] = slopes[0][a] * by[1][b] * by[2][d];
        weights[1][t] = by[0][a] * slopes[1][b] * by[2][d];
        weights[2][t] = by[0][a] * by[1][b] * slopes[2][d];
#elif T_to_places
        weights[0][t] = slopes[0][a] * by[1][b];
        weights[1][t] = by[0][a] * slopes[1][b];
#elif T_deep
        weights[0][t] = by[2][d] * by[1][b] * by[0][a];
#else
        weights[0][t] = by[1][b] * by[0][a];
#endif
    }
}

T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
#if T_deep
    const T_index plane = T_IF(T_wide, (int64_t)T_d, T_d) * T_h * T_w;
#else
    const T_index plane = T_IF(T_wide, (int64_t)T_h, T_h) * T_w;
#endif
#if T_to_x

    for (T_index at = MODC_THREAD(256); at < T_IF(T_wide, (int64_t)T_n, T_n) * T_c; at += MODC_THREADS(256)) {
        const T_of_p *const places = p + (at / T_over_c) * T_k * T_axes;
        T_of_y *const to = y + at * plane;

        for (T_index i = 0; i < plane; i++)
            to[i] = T_PUT(y, 0);
        MODC_UNROLL_BY(1)
        for (int k = 0; k < T_k; k++) {
            const T_real slope = T_GET(x, x[at * T_k + k]);
            T_real weights[1][T_all];
            int taps[T_all];

            T_NAME_place(taps, weights, places + k * T_axes T_PASS);
            MODC_UNROLL
            for (int t = 0; t < T_all; t++)
                if (taps[t] >= 0)
                    to[taps[t]] = T_PUT(y, T_GET(y, to[taps[t]]) + weights[0][t] * slope);
        }
    }
#elif T_to_places

    for (T_index at = MODC_THREAD(256); at < T_IF(T_wide, (int64_t)T_n, T_n) * T_k; at += MODC_THREADS(256)) {
        const T_index first = (at / T_over_k) * T_c;
        const T_of_g *const slopes = g + first * T_k + at % T_over_k;
        const T_of_x *const from = x + first * plane;
        T_real weights[T_axes][T_all], sums[T_axes] = {0};
        int taps[T_all];

        T_NAME_place(taps, weights, p + at * T_axes T_PASS);
        for (int c = 0; c < T_c; c++) {
            const T_real slope = T_GET(g, slopes[T_IF(T_wide, (int64_t)c, c) * T_k]);

            MODC_UNROLL
            for (int t = 0; t < T_all; t++) {
                const T_real value = taps[t] >= 0 ? slope * T_GET(x, from[c * plane + taps[t]]) : 0;

                MODC_UNROLL
                for (int axis = 0; axis < T_axes; axis++)
                    sums[axis] += value * weights[axis][t];
            }
        }
        MODC_UNROLL
        for (int axis = 0; axis < T_axes; axis++)
            y[at * T_axes + axis] = T_PUT(y, sums[axis]);
    }
#else
    const T_index places = T_IF(T_wide, (int64_t)T_n, T_n) * T_k;

    for (T_index at = MODC_THREAD(256); at < places * T_groups; at += MODC_THREADS(256)) {
        const T_index k = at % T_over_k, image = at / T_over_k / T_groups;
        const int channel = T_IF(T_wide, (int)(at / T_over_k % T_groups), at / T_over_k % T_groups) * T_group;
        const int end = modc_min(channel + T_group, T_c);
        T_real weights[1][T_all];
        int taps[T_all];

        T_NAME_place(taps, weights, p + (image * T_k + k) * T_axes T_PASS);
        for (int c = channel; c < end; c++) {
            const T_index r = image * T_c + c;
            const T_of_x *const from = x + r * plane;
#if T_mode == 0
            const T_real sum = taps[0] >= 0 ? T_GET(x, from[taps[0]]) : 0;
#else
            T_real sum = 0;

            MODC_UNROLL
            for (int t = 0; t < T_all; t++)
                sum += weights[0][t] * (taps[t] >= 0 ? T_GET(x, from[taps[t]]) : 0);
#endif

            y[r * T_k + k] = T_PUT(y, sum);
        }
    }
#endif
}

T_LAUNCHER
{
#if T_to_x
    return MODC_LAUNCH_OVER(T_NAME, (int64_t)T_n * T_c, 256, T_STREAM, T_ARGUMENTS);
#elif T_to_places
    return MODC_LAUNCH_OVER(T_NAME, (int64_t)T_n * T_k, 256, T_STREAM, T_ARGUMENTS);
#else
    return MODC_LAUNCH_OVER(T_NAME, (int64_t)T_n * T_k * T_groups, 256, T_STREAM, T_ARGUMENTS);
#endif
}
