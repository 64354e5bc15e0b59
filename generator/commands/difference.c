/* difference.c - see difference.h. */
#include "commands/difference.h"

#include <math.h>

#include "modc.h"

bool difference_add(struct difference *sum, const struct modc_item *item, const struct modc_item *base)
{
    if (base->dtype != item->dtype || base->bytes != item->bytes || base->dtype < 0) {
        sum->squares = (double)INFINITY;
        return true;
    }

    const enum modc_dtype part = modc_dtype_part((enum modc_dtype)base->dtype);
    const size_t size = modc_dtype_bytes(part);
    const char *a = item->data, *b = base->data;

    if (!modc_converts(MODC_FLOAT32, part))
        return false;
    for (size_t at = 0; at < base->bytes; at += size) {
        const double x = modc_number(a + at, part), y = modc_number(b + at, part);
        const double difference = x == y ? 0.0 : x - y;

        sum->squares += difference * difference;
        sum->of += y * y;
    }
    return true;
}

double difference_relative(const struct difference *sum)
{
    if (isnan(sum->squares) || isnan(sum->of))
        return (double)INFINITY;
    return sum->squares == 0.0 ? 0.0 : sum->of == 0.0 ? (double)INFINITY : sqrt(sum->squares / sum->of);
}

const char *difference_percent(struct arena *arena, double value)
{
    if (value < 0.0)
        return "-";
    return arena_format(arena, isfinite(value) ? "%.2g %%" : "%g", 100.0 * value);
}
