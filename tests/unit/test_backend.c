/* test_backend.c - the record of a machine, and the rows that each room has for it: none is half there. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/backend.h"
#include "base/templates.h"
#include "emit/printer.h"
#include "plan/algorithm.h"

static void test_records(void **state)
{
    (void)state;
    for (int device = 0; device < DEVICE_COUNT; device++) {
        const struct backend *backend = &backends[device];

        assert_ptr_equal(backend_find(backend->name), backend);
        assert_int_equal(backend_device(backend), device);
        assert_true(backend->align > 0 && (backend->align & (backend->align - 1)) == 0);
        assert_true(backend->cost.near_bytes <= backend->cost.cache_bytes);
        assert_true(backend->cost.memory <= backend->cost.cache);
    }
    assert_null(backend_find("abacus"));
}

/* What is computed has arithmetic, is of the same category, and holds all that was stored. */
static void test_elements(void **state)
{
    (void)state;
    for (int device = 0; device < DEVICE_COUNT; device++)
        for (int dtype = 0; dtype < DTYPE_COUNT; dtype++) {
            struct element element = backend_element(&backends[device], (enum dtype)dtype);

            assert_int_equal(element.stored, dtype);
            assert_int_equal(backend_element(&backends[device], element.computed).computed, element.computed);
            assert_int_equal(dtype_category(element.computed), dtype_category(element.stored));
            assert_true(dtype_rows[element.computed].bytes >= dtype_rows[dtype].bytes);
            assert_int_equal(backend_lanes(&backends[device], (enum dtype)dtype) *
                                 dtype_rows[element.computed].bytes,
                             backends[device].vector_bytes);
        }
    assert_int_equal(backends[DEVICE_CPU].computed[DTYPE_BFLOAT16], DTYPE_FLOAT32);
    assert_int_equal(backends[DEVICE_CPU].computed[DTYPE_FLOAT16], DTYPE_FLOAT32);
}

/* All templates that its algorithms name are there, and all of their names lead back to the rows. */
static void test_algorithms(void **state)
{
    int all = 0;

    (void)state;
    for (int device = 0; device < DEVICE_COUNT; device++) {
        const struct algorithm *row;
        int own = 0;

        for (int i = 0; (row = algorithm_of(&backends[device], i)); i++) {
            assert_non_null(template_find(&backends[device], row->template));
            assert_true(!row->parts || template_find(&backends[device], row->parts));
            assert_ptr_equal(algorithm_named(&backends[device], row->name), row);
            if (device == DEVICE_CPU || !row->anywhere)
                assert_ptr_equal(algorithm_at(all + own++), row);
        }
        all += own;
        assert_null(algorithm_named(&backends[device], "by_hand"));
        assert_null(template_find(&backends[device], "by_hand"));
    }
    assert_null(algorithm_at(all));
}

static void test_printers(void **state)
{
    (void)state;
    for (int device = 0; device < DEVICE_COUNT; device++) {
        const struct printer *printer = printer_of(&backends[device]);

        assert_true(printer->function || backends[device].apart); /* whose kernels have heads of their own */
        assert_non_null(printer->call);
        for (int kind = 0; kind < NEST_KINDS; kind++)
            assert_non_null(printer->nests[kind]);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_records),
        cmocka_unit_test(test_elements),
        cmocka_unit_test(test_algorithms),
        cmocka_unit_test(test_printers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
