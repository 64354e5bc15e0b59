/* difference.h - how far tensors of files are off: the root of the mean square of the difference over that of what should be there. */
#ifndef MODC_DIFFERENCE_H
#define MODC_DIFFERENCE_H

#include "base/text.h"

struct modc_item;

struct difference {
    double squares, of; /* sums of squares: of the differences, of what should be there */
};

/* Adds an item; false: it is of integers. What is not finite, or of another type or size, is infinitely far off. */
bool difference_add(struct difference *sum, const struct modc_item *item, const struct modc_item *base);

double difference_relative(const struct difference *sum);

/* As "1.2 %"; of what is negative, not known, "-". */
const char *difference_percent(struct arena *arena, double value);

#endif
