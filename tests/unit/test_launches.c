/* test_launches.c - what is read out of the text of kernels. That nvcc says the same of what is emitted: tests/support/launches.py. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <string.h>

#include "commands/launches.h"

static const char text[] =
    "/* __launch_bounds__(1) of a comment */\n"
    "enum { rows_warps = 4, rows_one, rows_threads = 32 * rows_warps };\n"
    "static __global__ void __launch_bounds__(rows_threads, 2) rows(float *y)\n"
    "{\n"
    "    __shared__ float keys[32][rows_one + 1], queries[rows_warps - 2][32];\n"
    "    __shared__ double last;\n"
    "}\n"
    "static __global__ void __launch_bounds__(256) plain(float *y)\n"
    "{\n"
    "}\n"
    "static __global__ void\n"
    "__launch_bounds__(64) aligned(float *y)\n"
    "{\n"
    "    __shared__ bool any;\n"
    "    __shared__ __align__(16) float a[2][(3 + 5) / 2 % 3];\n"
    "    __shared__ double z[2];\n"
    "    MODC_DYNAMIC_SHARED(float, more);\n"
    "}\n"
    "int net_aligned(void *stream, int n)\n"
    "{\n"
    "    return MODC_LAUNCH(aligned, (unsigned)modc_min(n, 8), dim3(8, 8), 4 * 1024, stream, y);\n"
    "}\n"
    "static __global__ void __launch_bounds__(32) late(float *y)\n"
    "{\n"
    "}\n"
    "int net_late(void *stream, int n)\n"
    "{\n"
    "    return MODC_LAUNCH(late, 1, 32, n * 4, stream, y);\n"
    "}\n"
    "static __global__ void __launch_bounds__(32) strange(float *y)\n"
    "{\n"
    "    __shared__ struct other cells[4];\n"
    "}\n";

static void kernels_are_read(void **state)
{
    static const struct launch expected[] = {
        {"rows", 128, 4 * (32 * 6 + 2 * 32) + 8, true},
        {"plain", 256, 0, true},
        {"aligned", 64, 16 + 8 + 16 + 4096, true},
        {"late", 32, 0, false},
        {"strange", 32, 0, false},
    };
    struct cx cx = {0};
    int count;
    const struct launch *list = launches_read(&cx, text, &count);

    (void)state;
    assert_int_equal(count, COUNT(expected));
    for (int i = 0; i < count; i++) {
        assert_string_equal(list[i].kernel, expected[i].kernel);
        assert_int_equal(list[i].threads, expected[i].threads);
        assert_int_equal(list[i].sized, expected[i].sized);
        if (expected[i].sized)
            assert_int_equal(list[i].shared, expected[i].shared);
    }
    arena_free(&cx.arena);
}

/* Whatever is cut off, it comes to an end. */
static void pieces_are_read(void **state)
{
    char piece[sizeof text];

    (void)state;
    for (size_t length = 0; length < sizeof text; length++) {
        struct cx cx = {0};
        int count;

        memcpy(piece, text, length);
        piece[length] = 0;
        launches_read(&cx, piece, &count);
        assert_in_range(count, 0, 5);
        arena_free(&cx.arena);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_read),
        cmocka_unit_test(pieces_are_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
