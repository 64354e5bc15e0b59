/* y (T_k, T_c, T_oh, T_ow) = the means of parts of boxes p (T_k, 5) of images x (T_n, T_c, T_h, T_w), a thread a part of a channel.
 * T_to_x: from the slopes x (T_k, T_c, T_oh, T_ow) of these, those y of the images, a thread a plane, which is the only one to add to
 * it.
 *
 * A box is the number of an image, which is there, and x1, y1, x2, y2. Of each of its T_oh x T_ow parts T_points x T_points places are
 * read, each made of four elements; T_adapts: as many as the part has elements, which are those inside of the image and its
 * border. What is no number, or has no end, has none. T_aligned: a box may be smaller than an element. T_index: a type that holds all
 * places of x and y; T_over_c: T_c, or 1 where it is 0. Fits: contiguous values; all but the parts may be sizes. */

/* How many places there are along a part of a box that is so long. */
MODC_DEVICE int T_NAME_count(const T_real length)
{
#if T_adapts
    return length > 0 && length <= (T_real)16777216 ? (int)length + ((T_real)(int)length < length) : 0;
#else
    (void)length;
    return T_points;
#endif
}

/* Two elements of an axis around a place, and how much of the second; false: it is outside. */
MODC_DEVICE bool T_NAME_axis(int *low, int *high, T_real *part, const T_real place, const int size)
{
    const T_real at = place > 0 ? place : 0;

    if (!(place >= -1 && place <= (T_real)size))
        return false;
    *low = modc_min((int)at, size - 1);
    *high = modc_min(*low + 1, size - 1);
    *part = *low < size - 1 ? at - (T_real)*low : 0;
    return true;
}
#if T_adapts

/* The first place that may be inside, of those that lie `step` apart. */
MODC_DEVICE int T_NAME_first(const T_real start, const T_real step)
{
    const T_real first = (-1 - start) / step - 2;

    return first > 0 && first <= (T_real)16777216 ? (int)first : 0;
}
#endif

#if T_to_x
/* Adds to a plane what the part (oh, ow) of a box, of such a slope, makes of it. */
MODC_DEVICE void T_NAME_part(T_of_y *plane, const T_real slope, const T_of_p *restrict box, const int oh, const int ow,
                             const int h, const int w)
#else
/* The mean of the part (oh, ow) of a box of a plane. */
MODC_DEVICE T_real T_NAME_part(const T_of_x *restrict plane, const T_of_p *restrict box, const int oh, const int ow, const int h,
                               const int w)
#endif
{
    const T_real left = T_GET(p, box[1]), top = T_GET(p, box[2]);
    const T_real across = T_GET(p, box[3]) - left, down = T_GET(p, box[4]) - top;
    const T_real bin_w = T_IF(T_aligned, across, (across > 1 ? across : 1)) / (T_real)T_ow;
    const T_real bin_h = T_IF(T_aligned, down, (down > 1 ? down : 1)) / (T_real)T_oh;
    const int columns = T_NAME_count(bin_w), rows = T_NAME_count(bin_h);
    const T_real x0 = left + (T_real)ow * bin_w, y0 = top + (T_real)oh * bin_h;
    const T_real share = 1 / ((T_real)rows * (T_real)columns);
#if !T_to_x
    T_real sum = 0;
#endif

    for (int i = T_IF(T_adapts, T_NAME_first(y0, bin_h / (T_real)rows), 0); columns > 0 && i < rows; i++) {
        const T_real place_h = y0 + ((T_real)i + (T_real)0.5) * bin_h / (T_real)rows;
        int h0, h1;
        T_real part_h;

        if (T_IF(T_adapts, place_h > (T_real)h, false))
            break;
        if (!T_NAME_axis(&h0, &h1, &part_h, place_h, h))
            continue;
        for (int j = T_IF(T_adapts, T_NAME_first(x0, bin_w / (T_real)columns), 0); j < columns; j++) {
            const T_real place_w = x0 + ((T_real)j + (T_real)0.5) * bin_w / (T_real)columns;
            int w0, w1;
            T_real part_w;

            if (T_IF(T_adapts, place_w > (T_real)w, false))
                break;
            if (!T_NAME_axis(&w0, &w1, &part_w, place_w, w))
                continue;
#if T_to_x
            T_of_y *const a = plane + h0 * w, *const b = plane + h1 * w;

            a[w0] = T_PUT(y, T_GET(y, a[w0]) + (1 - part_h) * (1 - part_w) * share * slope);
            a[w1] = T_PUT(y, T_GET(y, a[w1]) + (1 - part_h) * part_w * share * slope);
            b[w0] = T_PUT(y, T_GET(y, b[w0]) + part_h * (1 - part_w) * share * slope);
            b[w1] = T_PUT(y, T_GET(y, b[w1]) + part_h * part_w * share * slope);
#else
            sum += (1 - part_h) * (1 - part_w) * share * T_GET(x, plane[h0 * w + w0]);
            sum += (1 - part_h) * part_w * share * T_GET(x, plane[h0 * w + w1]);
            sum += part_h * (1 - part_w) * share * T_GET(x, plane[h1 * w + w0]);
            sum += part_h * part_w * share * T_GET(x, plane[h1 * w + w1]);
#endif
        }
    }
#if !T_to_x
    return sum;
#endif
}

T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    const int plane = T_h * T_w, parts = T_oh * T_ow;
#if T_guarded

    if (modc_faulty(T_fault))
        return;
#endif
#if T_to_x

    for (T_index at = MODC_THREAD(256); at < T_IF(T_wide, (int64_t)T_n, T_n) * T_c; at += MODC_THREADS(256)) {
        const T_index image = at / T_over_c, c = at % T_over_c;
        T_of_y *const to = y + at * plane;

        for (int i = 0; i < plane; i++)
            to[i] = T_PUT(y, 0);
        for (int k = 0; k < T_k; k++) {
            const T_of_x *const slopes = x + (T_IF(T_wide, (int64_t)k, k) * T_c + c) * parts;

            if ((int)T_GET(p, p[5 * k]) != image)
                continue;
            for (int part = 0; part < parts; part++)
                T_NAME_part(to, T_GET(x, slopes[part]), p + 5 * k, part / T_ow, part % T_ow, T_h, T_w);
        }
    }
#else

    for (T_index at = MODC_THREAD(256); at < T_IF(T_wide, (int64_t)T_k, T_k) * T_c * parts; at += MODC_THREADS(256)) {
        const T_index k = at / parts / T_over_c, c = at / parts % T_over_c;
        const int part = T_IF(T_wide, (int)(at % parts), at % parts);
        const T_index image = (int)T_GET(p, p[5 * k]);
        const T_real mean = T_NAME_part(x + (image * T_c + c) * plane, p + 5 * k, part / T_ow, part % T_ow, T_h, T_w);

        y[at] = T_PUT(y, mean);
    }
#endif
}

T_LAUNCHER
{
#if T_to_x
    return MODC_LAUNCH_OVER(T_NAME, (int64_t)T_n * T_c, 256, T_STREAM, T_ARGUMENTS);
#else
    return MODC_LAUNCH_OVER(T_NAME, (int64_t)T_k * T_c * T_oh * T_ow, 256, T_STREAM, T_ARGUMENTS);
#endif
}
