/* y (T_n, T_c, T_k) = images x (T_n, T_c, T_d, T_h, T_w), sampled at the places p (T_n, T_k, T_axes) of a grid, of which the first
 * number is along the last axis; T_axes 2: there is no T_d. T_to_x: from x (T_n, T_c, T_k), the slopes of such samples, those y
 * of the images. T_to_places: from images x and slopes g those y of the places.
 *
 * A place is made of T_taps elements along an axis (T_mode: 0 the nearest one, 1 linear, two; 2 cubic, four), T_all in all, each
 * with its weight. T_padding: what stands outside, 0 zeros, 1 the border, 2 the image reflected. T_corners: -1 and 1 are the
 * middles of the outermost elements, not their edges. Where they are is computed for a vector of places at a time, of which
 * those of some channels are then summed up. T_single: float. Fits: contiguous values; all may be sizes. */

/* To the nearest integer; of two as near, the even one. */
MODC_INLINE T_vec T_NAME_round(const T_vec a)
{
    const T_real whole = T_IF(T_single, (T_real)8388608, (T_real)4503599627370496);
    const T_vec size = T_V(abs)(a);

    return T_V(select)(T_V(lt)(size, T_V(set)(whole)), T_V(copysign)(size + whole - whole, a), a);
}
#if T_mode > 0 || T_padding == 2

MODC_INLINE T_vec T_NAME_down(const T_vec a)
{
    const T_vec near = T_NAME_round(a);

    return T_V(select)(T_V(gt)(near, a), near - (T_real)1, near);
}
#endif
#if T_padding > 0

/* Into the image, NaN to its first element; *slope: how fast the result changes with a place, which at the border is not at all. */
MODC_INLINE T_vec T_NAME_inside(const T_vec place, const T_real size, T_vec *slope)
{
    const T_vec zero = T_V(set)(0), last = T_V(set)(size - 1);
    T_vec at = place;
#if T_padding == 2
    const T_real low = T_IF(T_corners, 0, (T_real)-0.5), span = T_IF(T_corners, size > 1 ? 2 * (size - 1) : 1, 2 * size);
    const T_vec off = T_V(abs)(at - low), extra = off - T_NAME_down(off / span) * span, back = span - extra;

    *slope = T_V(select)(T_V(lt)(at, T_V(set)(low)), -*slope, *slope);
    *slope = T_V(select)(T_V(gt)(extra, back), -*slope, *slope);
    at = T_V(select)(T_V(gt)(extra, back), back, extra) + low;
#endif

    *slope = T_V(select)(T_V(gt)(at, zero), T_V(select)(T_V(lt)(at, last), *slope, zero), zero);
    at = T_V(select)(T_V(gt)(at, zero), at, zero);
    return T_V(select)(T_V(gt)(at, last), last, at);
}
#endif

/* The taps of places along an axis: their cells, -1 outside, their weights, and how fast these change with the place. */
MODC_INLINE void T_NAME_axis(int *restrict cells, T_vec *restrict weights, T_vec *restrict slopes, const T_vec place,
                             const T_real size)
{
    const T_real by = T_IF(T_corners, (size - 1) / 2, size / 2);
    const T_vec none = T_V(set)(-1);
    T_vec at = (place + (T_real)1) * by - T_IF(T_corners, (T_real)0, (T_real)0.5), cell[T_taps];
#if T_mode > 0 || T_padding > 0
    T_vec slope = T_V(set)(by);
#endif

#if T_padding > 0 && T_mode < 2
    at = T_NAME_inside(at, size, &slope);
#endif
#if T_mode == 0
    cell[0] = T_NAME_round(at);
    weights[0] = T_V(set)(1);
    slopes[0] = T_V(set)(0);
#else
    const T_vec first = T_NAME_down(at), part = at - first;
#if T_mode == 1

    cell[0] = first;
    cell[1] = first + (T_real)1;
    weights[0] = (T_real)1 - part;
    weights[1] = part;
    slopes[0] = -slope;
    slopes[1] = slope;
#else
    /* Keys' kernel with A = -0.75. */
    const T_vec a = part + (T_real)1, rest = (T_real)1 - part, b = (T_real)2 - part;

    for (int t = 0; t < 4; t++)
        cell[t] = first + (T_real)(t - 1);
    weights[0] = (((T_real)-0.75 * a + (T_real)3.75) * a - (T_real)6) * a + (T_real)3;
    weights[1] = ((T_real)1.25 * part - (T_real)2.25) * part * part + (T_real)1;
    weights[2] = ((T_real)1.25 * rest - (T_real)2.25) * rest * rest + (T_real)1;
    weights[3] = (((T_real)-0.75 * b + (T_real)3.75) * b - (T_real)6) * b + (T_real)3;
    slopes[0] = slope * (((T_real)-2.25 * a + (T_real)7.5) * a - (T_real)6);
    slopes[1] = slope * (((T_real)3.75 * part - (T_real)4.5) * part);
    slopes[2] = slope * (((T_real)4.5 - (T_real)3.75 * rest) * rest);
    slopes[3] = slope * (((T_real)2.25 * b - (T_real)7.5) * b + (T_real)6);
#if T_padding > 0
    for (int t = 0; t < 4; t++)
        cell[t] = T_NAME_inside(cell[t], size, &slope);
#endif
#endif
#endif
    for (int t = 0; t < T_taps; t++) {
        T_real lanes[T_LANES];

        cell[t] = T_V(select)(T_V(ge)(cell[t], T_V(set)(0)), cell[t], none);
        T_V(store)(lanes, T_V(select)(T_V(lt)(cell[t], T_V(set)(size)), cell[t], none));
        for (int i = 0; i < T_LANES; i++)
            cells[t * T_LANES + i] = (int)lanes[i];
    }
}

/* Of `channels` planes, at `count` places; inside: no tap is outside. */
MODC_INLINE void T_NAME_planes(T_IF(T_to_places, T_real, T_of_y) *restrict y, const T_of_x *restrict x T_MORE(T_to_places, const T_of_g *restrict g), const int *restrict at,
                               const T_real *restrict weights, const int count, const int plane, const int places,
                               const int channels, const bool inside)
{
    for (int i = 0; i < count; i++) {
#if !T_to_x && !T_to_places
        T_real sum[T_group] = {0};

        MODC_UNROLL
        for (int t = 0; t < T_all; t++) {
            const int from = at[t * T_LANES + i];

            MODC_UNROLL
            for (int c = 0; c < channels; c++)
#if T_mode == 0
                sum[c] = inside || from >= 0 ? T_GET(x, x[c * plane + from]) : 0;
#else
                sum[c] += weights[t * T_LANES + i] * (inside || from >= 0 ? T_GET(x, x[c * plane + from]) : 0);
#endif
        }
        MODC_UNROLL
        for (int c = 0; c < channels; c++)
            y[c * places + i] = T_PUT(y, sum[c]);
#elif T_to_x
        for (int t = 0; t < T_all; t++) {
            const int to = at[t * T_LANES + i];

            if (!inside && to < 0)
                continue;
            MODC_UNROLL
            for (int c = 0; c < channels; c++)
                y[c * plane + to] = T_PUT(y, T_GET(y, y[c * plane + to]) + weights[t * T_LANES + i] * T_GET(x, x[c * places + i]));
        }
#else
        T_real slopes[T_group];

        MODC_UNROLL
        for (int c = 0; c < channels; c++)
            slopes[c] = T_GET(g, g[c * places + i]);
        MODC_UNROLL
        for (int t = 0; t < T_all; t++) {
            const int from = at[t * T_LANES + i];
            T_real sum = y[t * T_LANES + i];

            MODC_UNROLL
            for (int c = 0; c < channels; c++)
                sum += inside || from >= 0 ? slopes[c] * T_GET(x, x[c * plane + from]) : 0;
            y[t * T_LANES + i] = sum;
        }
#endif
    }
#if T_to_places || (T_mode == 0 && !T_to_x)
    (void)weights;
#endif
}

/* The `count` places at p of an image at x. */
MODC_INLINE void T_NAME_block(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_p *restrict p T_MORE(T_to_places, const T_of_g *restrict g), const int count, const bool more T_ARGS)
{
#if T_deep
    const int plane = T_d * T_h * T_w;
    const T_real sizes[T_axes] = {(T_real)T_w, (T_real)T_h, (T_real)T_d};
#else
    const int plane = T_h * T_w;
    const T_real sizes[T_axes] = {(T_real)T_w, (T_real)T_h};
#endif
    T_vec places[T_axes], by[T_axes][T_taps], slopes[T_axes][T_taps];
    T_real weights[T_all * T_LANES];
    int cells[T_axes][T_taps * T_LANES], at[T_all * T_LANES], least = 0, c = 0;
#if T_to_places
    T_real sums[T_all * T_LANES];
#endif

#if !T_deep
    if (more) {
        places[0] = T_V(evens)(T_OF(p, load)(p), T_OF(p, load)(p + T_LANES));
        places[1] = T_V(evens)(T_OF(p, load)(p + 1), T_OF(p, load)(p + 1 + T_LANES));
    } else
#endif
    {
        for (int axis = 0; axis < T_axes; axis++) {
            T_real lanes[T_LANES];

            for (int i = 0; i < T_LANES; i++)
                lanes[i] = i < count ? T_GET(p, p[i * T_axes + axis]) : 0;
            places[axis] = T_V(load)(lanes);
        }
    }
    for (int axis = 0; axis < T_axes; axis++)
        T_NAME_axis(cells[axis], by[axis], slopes[axis], places[axis], sizes[axis]);
    for (int t = 0; t < T_all; t++) {
        const int a = t % T_taps, b = t / T_taps % T_taps;
#if T_deep
        const int d = t / (T_taps * T_taps);

        T_V(store)(weights + t * T_LANES, by[2][d] * by[1][b] * by[0][a]);
#else

        T_V(store)(weights + t * T_LANES, by[1][b] * by[0][a]);
#endif
        for (int i = 0; i < T_LANES; i++) {
            int cell = cells[0][a * T_LANES + i], outside = cell;

            outside |= cells[1][b * T_LANES + i];
            cell += cells[1][b * T_LANES + i] * T_w;
#if T_deep
            outside |= cells[2][d * T_LANES + i];
            cell += cells[2][d * T_LANES + i] * T_h * T_w;
#endif
            at[t * T_LANES + i] = outside < 0 ? -1 : cell;
            least |= outside;
        }
    }
#if T_to_places
    memset(sums, 0, sizeof sums);
    for (; c + T_group <= T_c; c += T_group) {
        if (least < 0)
            T_NAME_planes(sums, x + c * plane, g + c * T_k, at, weights, count, plane, T_k, T_group, false);
        else
            T_NAME_planes(sums, x + c * plane, g + c * T_k, at, weights, count, plane, T_k, T_group, true);
    }
    for (; c < T_c; c++)
        T_NAME_planes(sums, x + c * plane, g + c * T_k, at, weights, count, plane, T_k, 1, false);
    for (int axis = 0; axis < T_axes; axis++) {
        T_real lanes[T_LANES];
        T_vec sum = T_V(set)(0);

        for (int t = 0; t < T_all; t++) {
            const int a = t % T_taps, b = t / T_taps % T_taps;
            T_vec term = T_V(load)(sums + t * T_LANES);

            term *= (axis == 0 ? slopes : by)[0][a];
            term *= (axis == 1 ? slopes : by)[1][b];
#if T_deep
            term *= (axis == 2 ? slopes : by)[2][t / (T_taps * T_taps)];
#endif
            sum += term;
        }
        T_V(store)(lanes, sum);
        for (int i = 0; i < count; i++)
            y[i * T_axes + axis] = T_PUT(y, lanes[i]);
    }
#else
    for (; c + T_group <= T_c; c += T_group) {
        if (least < 0)
            T_NAME_planes(y + c * T_IF(T_to_x, plane, T_k), x + c * T_IF(T_to_x, T_k, plane), at, weights, count, plane, T_k, T_group, false);
        else
            T_NAME_planes(y + c * T_IF(T_to_x, plane, T_k), x + c * T_IF(T_to_x, T_k, plane), at, weights, count, plane, T_k, T_group, true);
    }
    for (; c < T_c; c++)
        T_NAME_planes(y + c * T_IF(T_to_x, plane, T_k), x + c * T_IF(T_to_x, T_k, plane), at, weights, count, plane, T_k, 1, false);
#endif
}

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_p *restrict p T_MORE(T_to_places, const T_of_g *restrict g) T_ARGS)
{
#if T_deep
    const int plane = T_d * T_h * T_w;
#else
    const int plane = T_h * T_w;
#endif
    const int blocks = (T_k + T_LANES - 1) / T_LANES, units = T_IF(T_to_x, T_n, T_n * blocks);
    const int begin = T_IF(T_by_rows, modc_share(units, slice, T_slices), 0);
    const int end = T_IF(T_by_rows, modc_share(units, slice + 1, T_slices), units);

#if T_to_x
    memset(y + begin * T_c * plane, 0, (size_t)((end - begin) * T_c * plane) * sizeof *y);
    for (int unit = begin * blocks; unit < end * blocks; unit++) {
#else
    for (int unit = begin; unit < end; unit++) {
#endif
        const int image = unit / blocks, first = unit % blocks * T_LANES;
        const bool more = first + T_LANES < T_k;
        const T_of_p *const places = p + (image * T_k + first) * T_axes;

#if T_to_x
        T_NAME_block(y + image * T_c * plane, x + image * T_c * T_k + first, places, modc_min(T_LANES, T_k - first), more T_PASS);
#elif T_to_places
        T_NAME_block(y + (image * T_k + first) * T_axes, x + image * T_c * plane, places, g + image * T_c * T_k + first,
                     modc_min(T_LANES, T_k - first), more T_PASS);
#else
    T_NAME_block(y + image * T_c * T_k + first, x + image * T_c * plane, places, modc_min(T_LANES, T_k - first), more T_PASS);
#endif
    }
}
