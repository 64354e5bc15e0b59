/* y (T_k, T_c, T_oh, T_ow) = the means of parts of boxes p (T_k, 5) of images x (T_n, T_c, T_h, T_w). T_to_x: from the slopes x (T_k,
 * T_c, T_oh, T_ow) of these, those y of the images.
 *
 * A box is the number of an image, which is there, and x1, y1, x2, y2. Of each of its T_oh x T_ow parts T_points x T_points places are
 * read, each made of four elements; T_adapts: as many as the part has elements, which are those inside of the image and its
 * border. What is no number, or has no end, has none. T_aligned: a box may be smaller than an element. Fits: contiguous values; all
 * but the parts may be sizes. */

enum { T_NAME_taps = 64 };

/* How many places there are along a part of a box that is so long. */
MODC_INLINE int T_NAME_count(const T_real length, const int points)
{
#if T_adapts
    (void)points;
    return length > 0 && length <= (T_real)16777216 ? (int)length + ((T_real)(int)length < length) : 0;
#else
    (void)length;
    return points;
#endif
}

/* Two elements of an axis around a place, and how much of the second; false: it is outside. */
MODC_INLINE bool T_NAME_axis(int *low, int *high, T_real *part, const T_real place, const int size)
{
    const T_real at = place > 0 ? place : 0;

    if (!(place >= -1 && place <= (T_real)size))
        return false;
    *low = modc_min((int)at, size - 1);
    *high = modc_min(*low + 1, size - 1);
    *part = *low < size - 1 ? at - (T_real)*low : 0;
    return true;
}

/* The first place that may be inside, of those that lie `step` apart. */
MODC_INLINE int T_NAME_first(const T_real start, const T_real step)
{
#if T_adapts
    const T_real first = (-1 - start) / step - 2;

    return first > 0 && first <= (T_real)16777216 ? (int)first : 0;
#else
    (void)start;
    (void)step;
    return 0;
#endif
}

/* Adds `count` elements, of all channels from c on, each with its weight. */
MODC_INLINE void T_NAME_add(T_of_y *restrict y, const T_of_x *restrict x, const int *restrict at, const T_real *restrict weights,
                            const int count, const int plane, const int parts, const int channels)
{
    int c = 0;

#if T_to_x
    for (; c < channels; c++) {
        const T_real slope = T_GET(x, x[c * parts]);

        for (int t = 0; t < count; t++)
            y[c * plane + at[t]] = T_PUT(y, T_GET(y, y[c * plane + at[t]]) + weights[t] * slope);
    }
#else
    for (; c + 4 <= channels; c += 4) {
        T_real sum[4];

        MODC_UNROLL
        for (int i = 0; i < 4; i++)
            sum[i] = T_GET(y, y[(c + i) * parts]);
        for (int t = 0; t < count; t++) {
            MODC_UNROLL
            for (int i = 0; i < 4; i++)
                sum[i] += weights[t] * T_GET(x, x[(c + i) * plane + at[t]]);
        }
        MODC_UNROLL
        for (int i = 0; i < 4; i++)
            y[(c + i) * parts] = T_PUT(y, sum[i]);
    }
    for (; c < channels; c++) {
        T_real sum = T_GET(y, y[c * parts]);

        for (int t = 0; t < count; t++)
            sum += weights[t] * T_GET(x, x[c * plane + at[t]]);
        y[c * parts] = T_PUT(y, sum);
    }
#endif
}

/* A part of a box, (oh, ow). */
MODC_INLINE void T_NAME_part(T_of_y *restrict y, const T_of_x *restrict x, const T_of_p *restrict box, const int oh, const int ow,
                             const int channels, const int points, const int high, const int wide, const int h, const int w)
{
    const T_real left = T_GET(p, box[1]), top = T_GET(p, box[2]);
    const T_real across = T_GET(p, box[3]) - left, down = T_GET(p, box[4]) - top;
    const T_real bin_w = T_IF(T_aligned, across, (across > 1 ? across : 1)) / (T_real)wide;
    const T_real bin_h = T_IF(T_aligned, down, (down > 1 ? down : 1)) / (T_real)high;
    const int columns = T_NAME_count(bin_w, points), rows = T_NAME_count(bin_h, points);
    const T_real x0 = left + (T_real)ow * bin_w, y0 = top + (T_real)oh * bin_h;
    const T_real step_w = bin_w / (T_real)columns, step_h = bin_h / (T_real)rows;
    const T_real share = 1 / ((T_real)rows * (T_real)columns);
    T_real weights[T_NAME_taps];
    int at[T_NAME_taps], count = 0;

    if (rows == 0 || columns == 0)
        return;
    for (int i = T_NAME_first(y0, step_h); i < rows; i++) {
        const T_real place_h = y0 + ((T_real)i + (T_real)0.5) * bin_h / (T_real)rows;
        int h0, h1;
        T_real part_h;

        if (T_IF(T_adapts, place_h > (T_real)h, false))
            break;
        if (!T_NAME_axis(&h0, &h1, &part_h, place_h, h))
            continue;
        for (int j = T_NAME_first(x0, step_w); j < columns; j++) {
            const T_real place_w = x0 + ((T_real)j + (T_real)0.5) * bin_w / (T_real)columns;
            int w0, w1;
            T_real part_w;

            if (T_IF(T_adapts, place_w > (T_real)w, false))
                break;
            if (!T_NAME_axis(&w0, &w1, &part_w, place_w, w))
                continue;
            if (count == T_NAME_taps) {
                T_NAME_add(y, x, at, weights, count, h * w, high * wide, channels);
                count = 0;
            }
            at[count] = h0 * w + w0;
            weights[count++] = (1 - part_h) * (1 - part_w) * share;
            at[count] = h0 * w + w1;
            weights[count++] = (1 - part_h) * part_w * share;
            at[count] = h1 * w + w0;
            weights[count++] = part_h * (1 - part_w) * share;
            at[count] = h1 * w + w1;
            weights[count++] = part_h * part_w * share;
        }
    }
    T_NAME_add(y, x, at, weights, count, h * w, high * wide, channels);
}

T_COMMENT
MODC_INLINE void T_NAME(T_of_y *T_RESTRICT y, const T_of_x *restrict x, const T_of_p *restrict p T_ARGS)
{
    const int units = T_IF(T_to_x, T_c, T_k);
    const int begin = T_IF(T_by_rows, modc_share(units, slice, T_slices), 0);
    const int end = T_IF(T_by_rows, modc_share(units, slice + 1, T_slices), units);

#if T_to_x
    for (int image = 0; image < T_n; image++)
        memset(y + (image * T_c + begin) * T_h * T_w, 0, (size_t)((end - begin) * T_h * T_w) * sizeof *y);
    for (int k = 0; k < T_k; k++) {
        T_of_y *const to = y + ((int)T_GET(p, p[5 * k]) * T_c + begin) * T_h * T_w;

        for (int part = 0; part < T_oh * T_ow; part++)
            T_NAME_part(to, x + (k * T_c + begin) * T_oh * T_ow + part, p + 5 * k, part / T_ow, part % T_ow, end - begin, T_points, T_oh,
                        T_ow, T_h, T_w);
    }
#else
    memset(y + begin * T_c * T_oh * T_ow, 0, (size_t)((end - begin) * T_c * T_oh * T_ow) * sizeof *y);
    for (int k = begin; k < end; k++) {
        const T_of_x *const from = x + (int)T_GET(p, p[5 * k]) * T_c * T_h * T_w;

        for (int part = 0; part < T_oh * T_ow; part++)
            T_NAME_part(y + k * T_c * T_oh * T_ow + part, from, p + 5 * k, part / T_ow, part % T_ow, T_c, T_points, T_oh, T_ow, T_h, T_w);
    }
#endif
}
