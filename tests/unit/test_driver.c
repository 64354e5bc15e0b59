/* test_driver.c - the driver of `modc run` over the tiny model: options, files, shapes, statuses. */
#define MODC_MODEL tiny_model
#define main driver_main
#include "../../runtime/driver/modc_main.c"
#undef main

#include "../../runtime/driver/modc_time.h"
#include "../support/tiny.h"

#include <math.h>
#include <setjmp.h>
#include <stddef.h>

#include <cmocka.h>

#include <unistd.h>

static char folder[64];

static char *path(const char *name)
{
    static char paths[8][128];
    static int next;
    char *text = paths[next++ % 8];

    snprintf(text, sizeof paths[0], "%s/%s", folder, name);
    return text;
}

/* Runs the driver; stdout and stderr go to the files out and err. */
static int drive(int count, const char *const *arguments)
{
    char *copies[24] = {"driver"};
    int out = dup(1), err = dup(2);

    for (int i = 0; i < count; i++)
        copies[i + 1] = (char *)(uintptr_t)arguments[i];
    fflush(stdout);
    fflush(stderr);
    assert_non_null(freopen(path("out"), "w", stdout));
    assert_non_null(freopen(path("err"), "w", stderr));

    int status = driver_main(count + 1, copies);

    fflush(stdout);
    fflush(stderr);
    dup2(out, 1);
    dup2(err, 2);
    close(out);
    close(err);
    return status;
}

#define DRIVE(...)                                                                                           \
    drive((int)(sizeof((const char *[]){__VA_ARGS__}) / sizeof(char *)), (const char *[]){__VA_ARGS__})

static bool printed(const char *file, const char *text)
{
    char buffer[8192];
    FILE *in = fopen(path(file), "r");

    assert_non_null(in);

    size_t length = fread(buffer, 1, sizeof buffer - 1, in);

    fclose(in);
    buffer[length] = '\0';
    if (strstr(buffer, text) == NULL)
        fprintf(stderr, "%s: %s", file, buffer);
    return strstr(buffer, text) != NULL;
}

static void write_file(const char *name, const struct modc_named_tensor *tensors, int count)
{
    char bytes[4096];
    size_t length;

    assert_int_equal(modc_write_tensors(tensors, count, bytes, sizeof bytes, &length), MODC_OK);
    assert_int_equal(modc_write_file(path(name), bytes, length), MODC_OK);
}

static void write_floats(const char *name, const char *tensor, const float *values, int ndim, int a, int b,
                         int c)
{
    struct modc_named_tensor named = {tensor, {(void *)(uintptr_t)values, MODC_FLOAT32, ndim, {a, b, c}}};

    write_file(name, &named, 1);
}

static const float x[] = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};

static int setup(void **state)
{
    (void)state;
    strcpy(folder, "test_driver_XXXXXX");
    if (mkdtemp(folder) == NULL)
        return 1;
    write_floats("x", "x", x, 2, 2, 2, 0);
    return 0;
}

static int teardown(void **state)
{
    static const char *const names[] = {"x", "y", "w", "e", "out", "err", "bad"};

    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        unlink(path(names[i]));
    return rmdir(folder);
}

static void test_options(void **state)
{
    (void)state;
    assert_int_equal(DRIVE("--no-such"), 2);
    assert_int_equal(DRIVE("--inputs"), 2);
    assert_int_equal(DRIVE("--seed", "-1"), 2);
    assert_int_equal(DRIVE("--seed=x"), 2);
    assert_int_equal(DRIVE("--rtol", "-1"), 2);
    assert_int_equal(DRIVE("--repeat", "0"), 2);
    assert_int_equal(DRIVE("--train=1"), 2);
    assert_int_equal(DRIVE("--hooks", "nothing"), 2);
    assert_int_equal(DRIVE("--hooks", "nothing=scale:2"), 2);
    assert_true(printed("err", "tiny has no module 'nothing'"));
    assert_int_equal(DRIVE("--hooks", "head=scale:x"), 2);
    assert_int_equal(DRIVE("--entry", "act"), 2);
    assert_true(printed("err", "hint: it has forward"));
    assert_int_equal(DRIVE("--repeat", "3", "--train", "--hooks=fence"), 0);
}

static void test_instruction_sets(void **state)
{
    (void)state;
    assert_int_equal(DRIVE("--dispatch", "plain"), 0);
    assert_int_equal(DRIVE("--dispatch=best"), 0);
    assert_int_equal(DRIVE("--dispatch", "wide"), 2);
    assert_true(printed("err", "modc: error: --dispatch wide: this machine does not have it\n"));
    assert_int_equal(DRIVE("--dispatch", "wider"), 2);
    assert_true(printed("err", "modc: error: --dispatch wider: tiny is not compiled for it\n"));
}

static void test_outputs(void **state)
{
    float want[] = {3, 5, 7, 9}, scaled[] = {5, 9, 13, 17}, halved[] = {2, 3, 4, 5},
          steps[] = {3, 5, 7, 9, 11, 13};

    (void)state;
    assert_int_equal(DRIVE("--inputs", path("x"), "--outputs", path("y"), "--state", path("w")), 0);
    write_floats("e", "y", want, 2, 2, 2, 0);
    assert_int_equal(DRIVE("--inputs", path("x"), "--weights", path("w"), "--expect", path("e")), 0);
    assert_true(printed("out", "y: largest error 0, relative 0, at [0, 0]\n"));
    assert_int_equal(DRIVE("--inputs", path("x"), "--expect", path("y")), 0);
    write_floats("e", "y", scaled, 2, 2, 2, 0);
    assert_int_equal(DRIVE("--inputs", path("x"), "--expect", path("e"), "--hooks", "blocks.0=scale:2"), 0);
    assert_int_equal(DRIVE("--inputs", path("x"), "--expect", path("e")), 4);
    assert_true(printed("out", "y: largest error 8, relative 0.471, at [1, 1]: 9, expected 17 (differs)\n"));
    assert_int_equal(DRIVE("--inputs", path("x"), "--expect", path("e"), "--rtol", "0.5"), 0);
    assert_int_equal(DRIVE("--inputs", path("x"), "--expect", path("e"), "--rtol", "0", "--atol", "8"), 0);
    write_floats("e", "y", halved, 2, 2, 2, 0);
    assert_int_equal(DRIVE("--inputs", path("x"), "--expect", path("e"), "--pre-hooks", "=scale:0.5"), 0);

    write_floats("x", "x", x, 3, 3, 1, 2);
    write_floats("e", "y", steps, 3, 3, 1, 2);
    assert_int_equal(DRIVE("--sequence", "--inputs", path("x"), "--expect", path("e")), 0);
    write_floats("x", "x", x, 2, 2, 2, 0);
}

static void test_special_values(void **state)
{
    float nan[] = {NAN, INFINITY, 1, -INFINITY}, other[] = {NAN, -INFINITY, 1, -INFINITY};
    float want[] = {NAN, INFINITY, 3, -INFINITY};

    (void)state;
    write_floats("x", "x", nan, 2, 2, 2, 0);
    want[2] = 3;
    write_floats("e", "y", want, 2, 2, 2, 0);
    assert_int_equal(DRIVE("--inputs", path("x"), "--expect", path("e")), 0);
    write_floats("e", "y", other, 2, 2, 2, 0);
    assert_int_equal(DRIVE("--inputs", path("x"), "--expect", path("e"), "--atol", "1e30"), 4);
    write_floats("x", "x", x, 2, 2, 2, 0);
}

static void test_files(void **state)
{
    int64_t whole[8] = {0};
    double wide[4] = {1, 2, 3, 4};
    struct modc_named_tensor int64s = {"x", {whole, MODC_INT64, 2, {2, 2}}};
    struct modc_named_tensor doubles = {"x", {wide, MODC_FLOAT64, 2, {2, 2}}};
    struct modc_named_tensor two[] = {doubles, {"z", {wide, MODC_FLOAT64, 0, {0}}}};

    (void)state;
    assert_int_equal(DRIVE("--inputs", path("none")), 3);
    assert_int_equal(modc_write_file(path("bad"), "bad", 3), MODC_OK);
    assert_int_equal(DRIVE("--inputs", path("bad")), 3);
    assert_true(printed("err", "header too small"));
    assert_int_equal(modc_write_file(path("bad"), "PK\3\4\0\0\0\0\0", 9), MODC_OK);
    assert_int_equal(DRIVE("--inputs", path("x"), "--weights", path("bad")), 3);
    assert_true(printed("err", "this is a zip or a pickle") &&
                printed("err", "hint: python -m modc convert '"));
    assert_int_equal(DRIVE("--inputs", path("x"), "--weights", path("bad")), 3);
    assert_int_equal(DRIVE("--inputs", path("x"), "--weights", path("x")), 3);
    assert_true(
        printed("err", "Error(s) in loading state_dict for Tiny:\n\tMissing key(s) in state_dict: \"embed"));
    assert_int_equal(DRIVE("--inputs", path("x"), "--expect", path("x")), 3);
    assert_true(printed("err", "x: forward has no output of this name"));
    assert_int_equal(DRIVE("--inputs", path("x"), "--outputs", path("no/such")), 3);

    write_floats("bad", "x", x, 2, 5, 2, 0);
    assert_int_equal(DRIVE("--inputs", path("bad")), 3);
    assert_true(printed("err", "x: dimension 0 is batch = 5, over its maximum 4"));
    write_floats("bad", "x", x, 2, 2, 3, 0);
    assert_int_equal(DRIVE("--inputs", path("bad")), 3);
    assert_true(printed("err", "x: expected shape [batch, 2], found [2, 3]"));
    write_floats("bad", "x", x, 3, 2, 2, 1);
    assert_int_equal(DRIVE("--inputs", path("bad")), 3);
    write_floats("bad", "X", x, 2, 2, 2, 0);
    assert_int_equal(DRIVE("--inputs", path("bad")), 3);
    assert_true(printed("err", "X: no input has this name"));
    write_file("bad", NULL, 0);
    assert_int_equal(DRIVE("--inputs", path("bad")), 3);
    assert_true(printed("err", "x: there is no tensor for this input"));
    assert_int_equal(DRIVE("--inputs", path("x"), "--expect", path("bad")), 3);
    write_file("bad", &int64s, 1);
    assert_int_equal(DRIVE("--inputs", path("bad")), 3);
    assert_true(printed("err", "x: expected dtype float32, found int64"));
    write_file("bad", &doubles, 1);
    assert_int_equal(DRIVE("--inputs", path("bad")), 0);
    write_file("bad", two, 2);
    assert_int_equal(DRIVE("--inputs", path("bad")), 3);
    write_floats("bad", "y", x, 2, 4, 1, 0);
    assert_int_equal(DRIVE("--inputs", path("x"), "--expect", path("bad")), 3);
    assert_true(printed("err", "y: the output has shape [2, 2], found [4, 1]"));
}

static void test_failing_call(void **state)
{
    (void)state;
    fail_inside = MODC_INDEX;
    assert_int_equal(DRIVE("--inputs", path("x")), 3);
    assert_true(printed("err", "an index is out of range"));
    fail_inside = MODC_UNSUPPORTED;
    assert_int_equal(DRIVE("--inputs", path("x")), 2);
    fail_inside = MODC_OK;
}

static void test_time(void **state)
{
    (void)state;
    assert_int_equal(DRIVE("--time", "--repeat", "50"), 0);
    assert_true(printed("out", "  50 calls  plain\n"));
    assert_true(printed("out", " MMAC  "));
    assert_true(printed("out", "  cpu "));
    assert_int_equal(DRIVE("--time", "--repeat", "3", "--inputs", path("x")), 0);
    assert_true(printed("out", "  0.12 KB  "));
}

/* A size by its name in the file, beside inputs that have it too. */
static int drive_size(const char *option, enum modc_dtype dtype, const void *values, int ndim, int count)
{
    struct modc_named_tensor tensors[] = {{"batch", {(void *)(uintptr_t)values, dtype, ndim, {count}}},
                                          {"x", {(void *)(uintptr_t)x, MODC_FLOAT32, 2, {2, 2}}}};
    struct modc_named_tensor steps[] = {tensors[0],
                                        {"x", {(void *)(uintptr_t)x, MODC_FLOAT32, 3, {2, 2, 1}}}};

    if (option != NULL)
        steps[1].tensor.dims[2] = 2;
    write_file("bad", option != NULL ? steps : tensors, 2);
    return option != NULL ? DRIVE(option, "--inputs", path("bad")) : DRIVE("--inputs", path("bad"));
}

static void test_sizes(void **state)
{
    static const int64_t sizes_given[] = {2, 3, -1, 5};
    static const float real[] = {2};

    (void)state;
    assert_int_equal(drive_size(NULL, MODC_INT64, &sizes_given[0], 0, 0), 0);
    assert_int_equal(drive_size(NULL, MODC_INT64, &sizes_given[1], 0, 0), 3);
    assert_true(printed("err", "batch is 3, but x has batch = 2"));
    assert_int_equal(drive_size(NULL, MODC_INT64, &sizes_given[2], 0, 0), 3);
    assert_true(printed("err", "batch: -1 is not between 0 and its maximum 4"));
    assert_int_equal(drive_size(NULL, MODC_INT64, &sizes_given[3], 0, 0), 3);
    assert_true(printed("err", "batch: 5 is not between 0 and its maximum 4"));
    assert_int_equal(drive_size(NULL, MODC_FLOAT32, real, 0, 0), 3);
    assert_true(printed("err", "batch: a size is int64, found float32"));
    assert_int_equal(drive_size(NULL, MODC_INT64, sizes_given, 1, 2), 3);
    assert_true(printed("err", "batch: a size is one number, found shape [2]"));
    assert_int_equal(drive_size("--sequence", MODC_INT64, sizes_given, 0, 0), 3);
    assert_true(printed("err", "batch: a size is one number for each step, found shape []"));
    assert_int_equal(drive_size("--sequence", MODC_INT64, sizes_given, 1, 1), 3);
    assert_int_equal(drive_size("--sequence", MODC_INT64, sizes_given, 1, 2), 3);
    assert_true(printed("err", "x: dimension 0 would be 2 in step 0 and 3 in step 1: with --sequence it"));
}

/* Inputs that a file gives say what is not met; random ones get sizes that meet it. */
static void test_requirements(void **state)
{
    (void)state;
    most_batch = 1;
    fail_inside = MODC_SIZE;
    assert_int_equal(DRIVE("--inputs", path("x")), 3);
    assert_true(printed("err", "tiny: error: batch <= most is not met by batch = 2"));
    fail_inside = MODC_OK;
    assert_int_equal(DRIVE("--outputs", path("y")), 0);
    write_floats("e", "y", x, 2, 1, 2, 0);
    assert_int_equal(DRIVE("--expect", path("e")), 4); /* its shape is right */
    most_batch = 0;
    fail_inside = MODC_SIZE;
    assert_int_equal(DRIVE("--outputs", path("y")), 3);
    assert_true(printed("err", "batch <= most is not met by batch = 1"));
    fail_inside = MODC_OK;
    most_batch = 4;
}

/* Other programs that take processors away: by the time of one thread, and by what else wants to run. */
static void test_busy(void **state)
{
    (void)state;
    assert_false(modc_is_busy(2.0, 1.95, 1, 1.2, 2));
    assert_true(modc_is_busy(2.0, 1.7, 1, 1.2, 2));
    assert_true(modc_is_busy(2.0, 2.0, 1, 2.6, 2));
    assert_false(modc_is_busy(2.0, 1.0, 2, 2.2, 2)); /* threads wait for each other */
    assert_true(modc_is_busy(2.0, 1.0, 2, 4.0, 2));
    assert_false(modc_is_busy(2.0, 2.0, 1, -1.0, 2));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options),          cmocka_unit_test(test_outputs),
        cmocka_unit_test(test_special_values),   cmocka_unit_test(test_files),
        cmocka_unit_test(test_failing_call),     cmocka_unit_test(test_time),
        cmocka_unit_test(test_instruction_sets), cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_requirements),     cmocka_unit_test(test_busy),
    };

    return cmocka_run_group_tests(tests, setup, teardown);
}
