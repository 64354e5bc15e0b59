/* steps.c - see steps.h. */
#include "base/steps.h"

#include <math.h>

struct steps steps_of_range(double least, double most)
{
    const float below = (float)fmin(least, 0.0), above = (float)fmax(most, 0.0);
    const float scale = fmaxf((above - below) / 255.0F, 0x1p-23F);

    return (struct steps){(double)scale,
                          (int)fmin(127.0, fmax(-128.0, -128.0 - nearbyint((double)(below / scale))))};
}

struct fixed fixed_of(double number)
{
    struct fixed out;
    const double part = round(ldexp(frexp(number, &out.shift), 31));

    if (part == 0x1p31)
        return (struct fixed){1 << 30, out.shift + 1};
    if (out.shift < -31)
        return (struct fixed){0, 0};
    out.multiplier = (int32_t)part;
    return out;
}
