/* dim_range.h - 64-bit integers that saturate, and ranges of them: the arithmetic below dims. Apart from dim_poly.h, since
 * it knows nothing of sizes. INT64_MIN and INT64_MAX stand for all that does not fit. */
#ifndef MODC_DIM_RANGE_H
#define MODC_DIM_RANGE_H

#include <stdbool.h>
#include <stdint.h>

struct range {
    int64_t lower, upper;
};

static inline bool is_saturated(int64_t value)
{
    return value == INT64_MAX || value == INT64_MIN;
}

static inline int64_t saturated(bool negative)
{
    return negative ? INT64_MIN : INT64_MAX;
}

static inline int64_t sat_add(int64_t a, int64_t b)
{
    int64_t sum;

    if (is_saturated(a))
        return a;
    if (is_saturated(b))
        return b;
    return __builtin_add_overflow(a, b, &sum) ? saturated(a < 0) : sum;
}

static inline int64_t sat_multiply(int64_t a, int64_t b)
{
    int64_t product;

    if (a == 0 || b == 0)
        return 0;
    if (is_saturated(a) || is_saturated(b) || __builtin_mul_overflow(a, b, &product))
        return saturated((a < 0) != (b < 0));
    return product;
}

static inline int64_t sat_negate(int64_t a)
{
    return a == INT64_MIN ? INT64_MAX : a == INT64_MAX ? INT64_MIN : -a;
}

/* As Python's //, but 0 for a divisor of 0. */
static inline int64_t sat_floor_divide(int64_t a, int64_t b)
{
    if (b == 0 || a == 0)
        return 0;
    if (is_saturated(a))
        return saturated((a < 0) != (b < 0));
    if (b == -1)
        return -a;
    return a / b - (a % b != 0 && (a < 0) != (b < 0));
}

static inline int64_t sat_ceil_divide(int64_t a, int64_t b)
{
    return sat_negate(sat_floor_divide(sat_negate(a), b));
}

static inline int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

static inline int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static inline struct range range_add(struct range a, struct range b)
{
    return (struct range){sat_add(a.lower, b.lower), sat_add(a.upper, b.upper)};
}

static inline struct range range_multiply(struct range a, struct range b)
{
    int64_t ll = sat_multiply(a.lower, b.lower), lu = sat_multiply(a.lower, b.upper);
    int64_t ul = sat_multiply(a.upper, b.lower), uu = sat_multiply(a.upper, b.upper);

    return (struct range){least(least(ll, lu), least(ul, uu)), most(most(ll, lu), most(ul, uu))};
}

static inline struct range range_intersect(struct range a, struct range b)
{
    return (struct range){most(a.lower, b.lower), least(a.upper, b.upper)};
}

/* A quotient is largest or smallest at the ends of both ranges, or beside a divisor of 0. */
static inline struct range range_floor_divide(struct range a, struct range b)
{
    const int64_t tops[] = {a.lower, a.upper};
    int64_t bottoms[4];
    int count = 0;
    struct range result = {INT64_MAX, INT64_MIN};

    if (b.upper > 0) {
        bottoms[count++] = most(b.lower, 1);
        bottoms[count++] = b.upper;
    }
    if (b.lower < 0) {
        bottoms[count++] = b.lower;
        bottoms[count++] = least(b.upper, -1);
    }
    if (count == 0)
        return (struct range){0, 0};
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < 2; j++) {
            int64_t quotient = sat_floor_divide(tops[j], bottoms[i]);

            result.lower = least(result.lower, quotient);
            result.upper = most(result.upper, quotient);
        }
    }
    return result;
}

static inline struct range range_mod(struct range a, struct range b)
{
    struct range result = {b.lower < 0 ? sat_add(b.lower, 1) : 0, b.upper > 0 ? sat_add(b.upper, -1) : 0};

    if (a.lower >= 0 && b.lower >= 0)
        result.upper = least(result.upper, a.upper);
    return result;
}

#endif
