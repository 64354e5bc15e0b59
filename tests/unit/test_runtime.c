/* test_runtime.c - the runtime, over a tiny model whose tables are written by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "../support/tiny.h"

/* ---- helpers ------------------------------------------------------------------------------------------- */

struct fixture {
    MODC_ALIGNED char block[BLOCK];
    MODC_ALIGNED char workspace[128];
    struct tiny_params params;
    struct tiny net;
    struct modc_report report;
};

static int setup(void **state)
{
    void *memory;

    if (posix_memalign(&memory, 64, sizeof(struct fixture)) != 0)
        return 1;

    struct fixture *f = memory;

    memset(f, 0, sizeof *f);
    if (modc_bind(&f->params.head, &tiny_model, f->block, BLOCK) != MODC_OK ||
        modc_reset(&f->params.head, 0) != MODC_OK ||
        modc_init(&f->net.head, &tiny_model, &f->params.head, f->workspace, sizeof f->workspace) != MODC_OK)
        return 1;
    fail_inside = MODC_OK;
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    free(*state);
    return 0;
}

struct text {
    char bytes[4096];
    size_t length;
};

static void append(void *user, const char *bytes, size_t length)
{
    struct text *text = user;

    assert_true(length > 0 && text->length + length < sizeof text->bytes);
    memcpy(text->bytes + text->length, bytes, length);
    text->length += length;
    text->bytes[text->length] = '\0';
}

static void assert_report(const struct modc_report *report, const char *expected)
{
    struct text text = {"", 0};

    modc_report_print(report, append, &text);
    assert_string_equal(text.bytes, expected);
}

static float *tensor(struct fixture *f, int key)
{
    return f->params.tensors[key];
}

static char *save(struct fixture *f, size_t *length)
{
    assert_int_equal(modc_save_bytes(&f->params.head, NULL, 0, length), MODC_OK);

    char *bytes = malloc(*length);

    assert_non_null(bytes);
    assert_int_equal(modc_save_bytes(&f->params.head, bytes, *length - 1, length), MODC_SIZE);
    assert_int_equal(modc_save_bytes(&f->params.head, bytes, *length, length), MODC_OK);
    return bytes;
}

/* A file from its header and so many bytes of data. The caller frees it. */
static char *make_file(const char *header, size_t data, size_t *length)
{
    size_t n = strlen(header);
    char *bytes = calloc(1, 8 + n + data);

    assert_non_null(bytes);
    for (int i = 0; i < 8; i++)
        bytes[i] = (char)(n >> (8 * i) & 0xff);
    memcpy(bytes + 8, header, n);
    *length = 8 + n + data;
    return bytes;
}

/* The state_dict with some keys left out (bits of `without`), and one more tensor if its name is not NULL. */
static char *make_state(struct fixture *f, unsigned without, const struct modc_named_tensor *more,
                        int more_count, size_t *length)
{
    struct modc_named_tensor named[KEYS + 4];
    int count = 0;

    for (int i = 0; i < KEYS; i++) {
        if (i == MASK || (without >> i & 1) != 0)
            continue;
        named[count].name = keys[i].name;
        assert_int_equal(modc_get_tensor(&f->params.head, i, &named[count++].tensor), MODC_OK);
    }
    for (int i = 0; i < more_count; i++)
        named[count++] = more[i];
    assert_int_equal(modc_write_tensors(named, count, NULL, 0, length), MODC_OK);

    char *bytes = malloc(*length);

    assert_non_null(bytes);
    assert_int_equal(modc_write_tensors(named, count, bytes, *length, length), MODC_OK);
    return bytes;
}

/* ---- files --------------------------------------------------------------------------------------------- */

static void test_writer(void **state)
{
    float w[6] = {1, 2, 3, 4, 5, 6};
    int64_t n = 3;
    char out[512];
    size_t length;
    struct modc_named_tensor named[] = {{"w", {w, MODC_FLOAT32, 2, {2, 3}}},
                                        {"a\"\n\x01", {w, MODC_FLOAT32, 1, {1}}},
                                        {"n", {&n, MODC_INT64, 0, {0}}}};

    (void)state;
    assert_int_equal(modc_write_tensors(NULL, 0, out, sizeof out, &length), MODC_OK);
    assert_int_equal(length, 16);
    assert_memory_equal(out, "\x08\0\0\0\0\0\0\0{}      ", 16);
    assert_int_equal(modc_write_tensors(named, 1, out, sizeof out, &length), MODC_OK);
    assert_int_equal(length, 96);
    assert_memory_equal(
        out, "\x40\0\0\0\0\0\0\0{\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[0,24]}}       ",
        72);
    assert_memory_equal(out + 72, w, 24);

    static const char header[] =
        "{\"n\":{\"dtype\":\"I64\",\"shape\":[],\"data_offsets\":[0,8]},"
        "\"a\\\"\\n\\u0001\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[8,12]},"
        "\"w\":{\"dtype\":\"F32\",\"shape\":[2,3],\"data_offsets\":[12,36]}}";

    assert_int_equal(modc_write_tensors(named, 3, out, sizeof out, &length), MODC_OK);
    assert_memory_equal(out + 8, header, sizeof header - 1);

    struct modc_reader reader;
    struct modc_item item;

    assert_int_equal(modc_reader_open(&reader, out, length, NULL), MODC_OK);
    assert_int_equal(reader.count, 3);
    assert_true(modc_reader_find(&reader, "a\"\n\x01", &item));
    assert_int_equal(item.bytes, 4);
    assert_false(modc_reader_find(&reader, "a\"\n", &item));
    named[1].name = "w";
    assert_int_equal(modc_write_tensors(named, 2, out, sizeof out, &length), MODC_ARGUMENT);
}

/* complex128, which files have no type for, comes back from pairs of float64 that the metadata name; others stay what they are. */
static void test_complex(void **state)
{
    static const double wide[4] = {1.5, -2.0, 0.1, 1e300};
    static const float narrow[4] = {1.5f, -2.0f, 0.1f, -0.0f};
    static const char header[] = "{\"__metadata__\":{\"modc.complex128\":\"one\\nz\\\"\"},"
                                 "\"one\":{\"dtype\":\"F64\",\"shape\":[2],\"data_offsets\":[0,16]},"
                                 "\"pairs\":{\"dtype\":\"F64\",\"shape\":[2,2],\"data_offsets\":[16,48]},"
                                 "\"z\\\"\":{\"dtype\":\"F64\",\"shape\":[1,2,2],\"data_offsets\":[48,80]},"
                                 "\"c\":{\"dtype\":\"C64\",\"shape\":[2],\"data_offsets\":[80,96]}}";
    struct modc_named_tensor named[] = {{"c", {(void *)narrow, MODC_COMPLEX64, 1, {2}}},
                                        {"z\"", {(void *)wide, MODC_COMPLEX128, 2, {1, 2}}},
                                        {"pairs", {(void *)wide, MODC_FLOAT64, 2, {2, 2}}},
                                        {"one", {(void *)wide, MODC_COMPLEX128, 0, {0}}}};
    const int dims[] = {1, 2};
    char out[512];
    size_t length;
    struct modc_reader reader;
    struct modc_item item;
    float single[4];
    double back[4];

    (void)state;
    assert_int_equal(modc_write_tensors(named, 4, out, sizeof out, &length), MODC_OK);
    assert_memory_equal(out + 8, header, sizeof header - 1);
    assert_int_equal(modc_reader_open(&reader, out, length, NULL), MODC_OK);
    assert_int_equal(reader.count, 4);
    assert_true(modc_reader_find(&reader, "z\"", &item));
    assert_int_equal(item.dtype, MODC_COMPLEX128);
    assert_string_equal(item.dtype_name, "C128");
    assert_true(modc_item_has_shape(&item, 2, dims));
    assert_memory_equal(item.data, wide, sizeof wide);
    assert_true(modc_reader_find(&reader, "one", &item));
    assert_int_equal(item.dtype, MODC_COMPLEX128);
    assert_int_equal(item.ndim, 0);
    assert_true(modc_reader_find(&reader, "pairs", &item));
    assert_int_equal(item.dtype, MODC_FLOAT64);
    assert_int_equal(item.ndim, 2);
    assert_true(modc_reader_find(&reader, "c", &item));
    assert_int_equal(item.dtype, MODC_COMPLEX64);
    assert_int_equal(modc_convert(back, MODC_COMPLEX128, item.data, MODC_COMPLEX64, 2), MODC_OK);
    for (int i = 0; i < 4; i++)
        assert_true(back[i] == (double)narrow[i]);
    assert_int_equal(modc_convert(single, MODC_COMPLEX64, wide, MODC_COMPLEX128, 2), MODC_OK);
    assert_true(single[0] == 1.5f && single[1] == -2.0f && single[2] == 0.1f && isinf(single[3]));
    assert_int_equal(modc_convert(single, MODC_FLOAT32, wide, MODC_COMPLEX128, 2), MODC_ARGUMENT);
    assert_int_equal(modc_convert(back, MODC_COMPLEX128, wide, MODC_FLOAT64, 2), MODC_ARGUMENT);
}

/* Many more tensors than one batch of the sort, given in the wrong order. */
static void test_many(void **state)
{
    enum { MANY = 1700 };
    static char names[MANY][8];
    static struct modc_named_tensor named[MANY];
    unsigned char byte = 5;
    size_t length;
    struct modc_reader reader;
    struct modc_item item;

    (void)state;
    for (int i = 0; i < MANY; i++) {
        snprintf(names[i], sizeof names[i], "t%04d", i * 7 % MANY);
        named[i].name = names[i];
        named[i].tensor.data = &byte;
        named[i].tensor.dtype = i % 2 == 0 ? MODC_UINT8 : MODC_BOOL;
        named[i].tensor.ndim = 0;
    }
    assert_int_equal(modc_write_tensors(named, MANY, NULL, 0, &length), MODC_OK);

    char *bytes = malloc(length);

    assert_int_equal(modc_write_tensors(named, MANY, bytes, length, &length), MODC_OK);
    assert_int_equal(modc_reader_open(&reader, bytes, length, NULL), MODC_OK);
    assert_int_equal(reader.count, MANY);
    assert_false(reader.duplicates);

    size_t at = 0;
    char before[16] = "", name[16];

    for (int i = 0; modc_reader_next(&reader, &at, &item); i++) {
        modc_item_name(&item, name, sizeof name);
        if (i != MANY / 2)
            assert_true(strcmp(before, name) < 0);
        strcpy(before, name);
    }
    free(bytes);

    /* Listed backwards: the check sorts. */
    char *header = malloc(MANY * 64);
    size_t used = 1;

    strcpy(header, "{");
    for (int i = MANY - 1; i >= 0; i--)
        used += (size_t)sprintf(header + used,
                                "%s\"t%d\":{\"dtype\":\"U8\",\"shape\":[1],\"data_offsets\":[%d,%d]}",
                                i < MANY - 1 ? "," : "", i, i, i + 1);
    strcpy(header + used, "}");
    bytes = make_file(header, MANY, &length);
    assert_int_equal(modc_reader_open(&reader, bytes, length, NULL), MODC_OK);
    free(bytes);
    bytes = make_file(header, MANY + 1, &length);
    assert_int_equal(modc_reader_open(&reader, bytes, length, NULL), MODC_FORMAT);
    free(bytes);
    free(header);
}

#define ENTRY(name, rest) "\"" name "\":{" rest "}"
#define F32(name, shape, begin, end)                                                                         \
    ENTRY(name, "\"dtype\":\"F32\",\"shape\":[" shape "],\"data_offsets\":[" begin "," end "]")

static void test_reader_faults(void **state)
{
    static const struct {
        const char *header;
        size_t data;
        enum modc_format format;
        const char *name;
    } cases[] = {
        {"{}", 0, MODC_FORMAT_OK, ""},
        {" {} \t\n", 0, MODC_FORMAT_OK, ""},
        {"", 0, MODC_FORMAT_JSON, ""},
        {"{} x", 0, MODC_FORMAT_JSON, ""},
        {"{,}", 0, MODC_FORMAT_JSON, ""},
        {"[]", 0, MODC_FORMAT_JSON, ""},
        {"{\"a\":\"\xff\"}", 0, MODC_FORMAT_UTF8, ""},
        {"{\"a\":\"\xed\xa0\x80\"}", 0, MODC_FORMAT_UTF8, ""},
        {"{\"a\":\"\xe2\x82", 0, MODC_FORMAT_UTF8, ""},
        {"{\"__metadata__\":{\"a\":\"b\",\"\xe2\x82\xac\":\"\\ud83d\\ude00\"}}", 0, MODC_FORMAT_OK, ""},
        {"{\"__metadata__\":null}", 0, MODC_FORMAT_OK, ""},
        {"{\"__metadata__\":{\"a\":1}}", 0, MODC_FORMAT_JSON, ""},
        {"{\"__metadata__\":{},\"__metadata__\":{}}", 0, MODC_FORMAT_JSON, ""},
        {"{\"__metadata__\":{\"a\":\"\\ud83d\"}}", 0, MODC_FORMAT_JSON, ""},
        {"{" F32("w", "2,3", "0", "24") "}", 24, MODC_FORMAT_OK, ""},
        {"{" F32("w", "2,3", "0", "24") "}   ", 24, MODC_FORMAT_OK, ""},
        {"{" F32("", "", "0", "4") "}", 4, MODC_FORMAT_OK, ""},
        {"{" F32("w", "2,3", "0", "24") "}", 25, MODC_FORMAT_INCOMPLETE, ""},
        {"{" F32("w", "2,3", "0", "24") "}", 23, MODC_FORMAT_INCOMPLETE, ""},
        {"{" F32("w", "2,3", "0", "20") "}", 20, MODC_FORMAT_INFO, "w"},
        {"{" F32("w", "2,3", "4", "28") "}", 28, MODC_FORMAT_OFFSET, "w"},
        {"{" F32("w", "0", "0", "0") "," F32("v", "1", "0", "4") "}", 4, MODC_FORMAT_OK, ""},
        {"{" F32("v", "1", "0", "4") "," F32("w", "0", "0", "0") "}", 4, MODC_FORMAT_OK, ""},
        {"{" F32("v", "1", "0", "4") "," F32("w", "0", "2", "2") "}", 4, MODC_FORMAT_OFFSET, "w"},
        {"{" F32("v", "1", "4", "8") "," F32("w", "1", "0", "4") "}", 8, MODC_FORMAT_OK, ""},
        {"{" F32("v", "1", "0", "4") "," F32("w", "1", "2", "6") "}", 6, MODC_FORMAT_OFFSET, "w"},
        {"{" F32("v", "1", "0", "4") "," F32("w", "1", "8", "12") "}", 12, MODC_FORMAT_OFFSET, "w"},
        {"{" F32("v", "1", "4", "0") "}", 4, MODC_FORMAT_OFFSET, "v"},
        {"{" F32("v", "4294967296,4294967296,4294967296", "0", "4") "}", 4, MODC_FORMAT_OVERFLOW, "v"},
        {"{" F32("v", "4611686018427387904", "0", "4") "}", 4, MODC_FORMAT_OVERFLOW, "v"},
        {"{" F32("v", "-1", "0", "4") "}", 4, MODC_FORMAT_JSON, ""},
        {"{" F32("v", "1.0", "0", "4") "}", 4, MODC_FORMAT_JSON, ""},
        {"{" F32("v", "1e0", "0", "4") "}", 4, MODC_FORMAT_JSON, ""},
        {"{" F32("v", "01", "0", "4") "}", 4, MODC_FORMAT_JSON, ""},
        {"{" F32("v", "18446744073709551616", "0", "4") "}", 4, MODC_FORMAT_JSON, ""},
        {"{" F32("v", "1,", "0", "4") "}", 4, MODC_FORMAT_JSON, ""},
        {"{" F32("v", "1", "0", "4,4") "}", 4, MODC_FORMAT_JSON, ""},
        {"{" F32("v", "1", "0", "4") ",}", 4, MODC_FORMAT_JSON, ""},
        {"{" F32("v", "1", "9", "9") "," F32("v", "1", "0", "4") "}", 4, MODC_FORMAT_OK,
         ""}, /* the last one counts */
        {"{" F32("v", "1", "0", "4") "," F32("\\u0076", "1", "9", "9") "}", 4, MODC_FORMAT_OFFSET, "v"},
        {"{" ENTRY("v", "\"dtype\":\"F99\",\"shape\":[],\"data_offsets\":[0,4]") "}", 4, MODC_FORMAT_JSON,
         ""},
        {"{" ENTRY("v", "\"dtype\":\"F32\",\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]") "}", 4,
         MODC_FORMAT_JSON, ""},
        {"{" ENTRY("v", "\"dtype\":\"F32\",\"shape\":[]") "}", 4, MODC_FORMAT_JSON, ""},
        {"{" ENTRY(
             "v",
             "\"x\":[{\"a\":[1,-2.5e3,true,null,{}]},[]],\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]") "}",
         4, MODC_FORMAT_OK, ""},
        {"{" ENTRY("v", "\"x\":[1,],\"dtype\":\"F32\",\"shape\":[],\"data_offsets\":[0,4]") "}", 4,
         MODC_FORMAT_JSON, ""},
        {"{" ENTRY("v", "\"dtype\":\"F4\",\"shape\":[2],\"data_offsets\":[0,1]") "}", 1, MODC_FORMAT_OK, ""},
        {"{" ENTRY("v", "\"dtype\":\"F4\",\"shape\":[1],\"data_offsets\":[0,1]") "}", 1, MODC_FORMAT_SUBBYTE,
         "v"},
    };
    struct modc_report *report = calloc(1, sizeof *report);
    struct modc_reader reader;

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        size_t length;
        char *bytes = make_file(cases[i].header, cases[i].data, &length);

        size_t room = modc_reader_index_bytes(bytes, length);
        void *memory = malloc(room);

        for (int indexed = 0; indexed < 2; indexed++) {
            enum modc_status status = modc_reader_open_indexed(&reader, bytes, length,
                                                               indexed ? memory : NULL, room, report);

            if (report->format != cases[i].format ||
                (cases[i].name[0] != '\0' && strcmp(report->name, cases[i].name) != 0))
                fail_msg("%s: %d %s", cases[i].header, (int)report->format, report->name);
            assert_int_equal(status, cases[i].format == MODC_FORMAT_OK ? MODC_OK : MODC_FORMAT);
            assert_true((reader.index != NULL) == (indexed && status == MODC_OK) || status != MODC_OK);
        }
        free(memory);
        free(bytes);
    }
    assert_int_equal(modc_reader_open(&reader, "\x10\0\0\0\0\0\0", 7, report), MODC_FORMAT);
    assert_int_equal(report->format, MODC_FORMAT_HEADER_TOO_SMALL);
    assert_int_equal(modc_reader_open(&reader, "\0\xe1\xf5\x05\0\0\0\0{}", 10, report), MODC_FORMAT);
    assert_int_equal(report->format, MODC_FORMAT_HEADER_LENGTH); /* 100 000 000 is allowed */
    assert_int_equal(modc_reader_open(&reader, "\x01\xe1\xf5\x05\0\0\0\0{}", 10, report), MODC_FORMAT);
    assert_int_equal(report->format, MODC_FORMAT_HEADER_TOO_LARGE);

    /* What torch.save writes, and wrote before 1.6; and no pickles: a header of that length, which is there, and a length alone. */
    static const char zip[] = "PK\3\4\0\0\x08\x08\0\0archive/data.pkl",
                      old[] = "\x80\2\x8a\nl\xfc\x9c\x46\xf9 j\xa8P";
    size_t length = 0x280;
    char *spaces = malloc(length + 8);

    assert_int_equal(modc_reader_open(&reader, zip, sizeof zip, report), MODC_FORMAT);
    assert_int_equal(report->format, MODC_FORMAT_PICKLE);
    assert_int_equal(modc_reader_open(&reader, old, sizeof old, report), MODC_FORMAT);
    assert_int_equal(report->format, MODC_FORMAT_PICKLE);
    report->status = MODC_FORMAT;
    assert_report(
        report,
        "Error while deserializing header: this is a zip or a pickle, as torch.save writes them, not safetensors");
    memset(spaces, ' ', length + 8);
    memcpy(spaces, "\x80\2\0\0\0\0\0\0{}", 10);
    assert_int_equal(modc_reader_open(&reader, spaces, length + 8, report), MODC_OK);
    spaces[8] = '[';
    assert_int_equal(modc_reader_open(&reader, spaces, length + 8, report), MODC_FORMAT);
    assert_int_equal(report->format, MODC_FORMAT_JSON);
    free(spaces);
    free(report);
}

/* The reader must not recurse: a header of brackets alone. */
static void test_deep_header(void **state)
{
    enum { DEEP = 1000000 };
    char *header = malloc(DEEP + 32);
    size_t length;
    struct modc_reader reader;

    (void)state;
    strcpy(header, "{\"v\":{\"x\":");
    memset(header + 10, '[', DEEP);
    header[10 + DEEP] = '\0';

    char *bytes = make_file(header, 0, &length);

    assert_int_equal(modc_reader_open(&reader, bytes, length, NULL), MODC_FORMAT);
    free(bytes);
    free(header);
}

static void test_convert(void **state)
{
    float singles[] = {0.0f,          -0.0f,         1.0f,          65504.0f,      65519.0f,      65520.0f,
                       5.9604645e-8f, 2.9802322e-8f, 4.4703484e-8f, 6.1035156e-5f, 6.0975552e-5f, 3.0e38f};
    uint16_t halves[] = {0, 0x8000, 0x3c00, 0x7bff, 0x7bff, 0x7c00, 1, 0, 1, 0x400, 0x3ff, 0x7c00}, out[12];
    double real = 1.0 + 1.0 / 2048 + 1.0 / (1 << 30) / 1024;
    int32_t integer;
    float back;

    (void)state;
    assert_int_equal(modc_convert(out, MODC_FLOAT16, singles, MODC_FLOAT32, 12), MODC_OK);
    assert_memory_equal(out, halves, sizeof halves);
    for (unsigned bits = 0; bits < 0x7c00; bits++) {
        uint16_t half = (uint16_t)bits, again;

        modc_convert(&back, MODC_FLOAT32, &half, MODC_FLOAT16, 1);
        modc_convert(&again, MODC_FLOAT16, &back, MODC_FLOAT32, 1);
        assert_int_equal(half, again);
    }
    modc_convert(out, MODC_FLOAT16, &real, MODC_FLOAT64, 1); /* through float32, as PyTorch */
    assert_int_equal(out[0], 0x3c00);
    singles[0] = 1.00390625f;
    singles[1] = 1.01171875f;
    modc_convert(out, MODC_BFLOAT16, singles, MODC_FLOAT32, 2);
    assert_int_equal(out[0], 0x3f80);
    assert_int_equal(out[1], 0x3f82);
    assert_int_equal(modc_convert(&integer, MODC_INT32, singles, MODC_FLOAT32, 1), MODC_ARGUMENT);
    modc_store(&integer, MODC_INT32, -3.9);
    assert_int_equal(integer, -3);
}

/* ---- binding and loading ------------------------------------------------------------------------------- */

static void test_bind(void **state)
{
    struct fixture *f = *state;
    struct modc_tensor t;
    bool mask[3];

    assert_int_equal(modc_bind(&f->params.head, &tiny_model, f->block + 8, BLOCK), MODC_ALIGNMENT);
    assert_int_equal(modc_bind(&f->params.head, &tiny_model, f->block, BLOCK - 1), MODC_SIZE);
    assert_int_equal(modc_bind(&f->params.head, &tiny_model, NULL, BLOCK), MODC_POINTER);
    memset(f->block, 0x5a, BLOCK);
    assert_int_equal(modc_bind(&f->params.head, &tiny_model, f->block, BLOCK), MODC_OK);
    assert_ptr_equal(f->params.tensors[EMBED_WEIGHT], f->block + 64);
    assert_ptr_equal(f->params.tensors[HEAD_WEIGHT], f->block + 64);
    assert_true(tensor(f, NORM_VAR)[1] == 1.0f);
    assert_int_equal(*(int64_t *)f->params.tensors[NORM_COUNT], 0);
    assert_int_equal(f->block[64], 0x5a); /* parameters stay */
    assert_int_equal(modc_get(&f->params.head, MASK, mask), MODC_OK);
    assert_true(mask[0] && !mask[1] && mask[2]);
    assert_int_equal(modc_get(&f->params.head, KEYS, mask), MODC_INDEX);
    assert_int_equal(modc_get_tensor(&f->params.head, B1_WEIGHT, &t), MODC_OK);
    assert_int_equal(t.dims[1], 2);
}

static void test_save_load(void **state)
{
    struct fixture *f = *state;
    size_t length, again;
    char *bytes = save(f, &length), before[BLOCK];
    uint64_t version = f->params.head.version;

    memcpy(before, f->block, BLOCK);
    memset(f->block + 64, 0, BLOCK - 64);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_STRICT, &f->report), MODC_OK);
    assert_report(&f->report, "<All keys matched successfully>");
    assert_true(f->params.head.version > version);
    assert_memory_equal(before + 64, f->block + 64, 24);

    char *second = save(f, &again);

    assert_int_equal(again, length);
    assert_memory_equal(bytes, second, length);
    free(second);
    free(bytes);
}

/* Cut anywhere, or with any byte changed: refused, or read, but never half loaded or out of bounds. */
static void test_cut_files(void **state)
{
    struct fixture *f = *state;
    size_t length;
    char *bytes = save(f, &length), before[BLOCK];

    memcpy(before, f->block, BLOCK);
    for (size_t n = 0; n < length; n++) {
        char *cut = malloc(n > 0 ? n : 1);

        memcpy(cut, bytes, n);
        assert_int_equal(modc_load_bytes(&f->params.head, cut, n, MODC_STRICT, &f->report), MODC_FORMAT);
        assert_memory_equal(before, f->block, BLOCK);
        free(cut);
    }
    for (size_t n = 0; n < length; n++) {
        for (int bit = 0; bit < 8; bit++) {
            char *changed = malloc(length);
            struct text text = {"", 0};

            memcpy(changed, bytes, length);
            changed[n] = (char)(changed[n] ^ 1 << bit);
            if (modc_load_bytes(&f->params.head, changed, length, MODC_STRICT, &f->report) != MODC_OK)
                assert_memory_equal(before, f->block, BLOCK);
            modc_report_print(&f->report, append, &text);
            memcpy(f->block, before, BLOCK);
            free(changed);
        }
    }
    free(bytes);
}

static void test_strict(void **state)
{
    struct fixture *f = *state;
    float wide[6] = {0}, other[4] = {9, 9, 9, 9};
    struct modc_named_tensor more[] = {
        {"norm.extra", {wide, MODC_FLOAT32, 1, {2}}},
        {"zzz", {wide, MODC_FLOAT32, 1, {2}}},
        {"blocks.0.weight", {wide, MODC_FLOAT32, 2, {3, 2}}},
        {"blocks.1.bias", {wide, MODC_INT32, 1, {2}}},
    };
    size_t length;
    char before[BLOCK];
    unsigned without = 1u << B0_WEIGHT | 1u << B1_BIAS | 1u << NORM_COUNT | 1u << NORM_MEAN |
                       1u << EMBED_WEIGHT;
    char *bytes = make_state(f, without, more, 4, &length);

    memcpy(before, f->block, BLOCK);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_STRICT, &f->report), MODC_KEYS);
    assert_memory_equal(before, f->block, BLOCK);
    assert_report(
        &f->report,
        "Error(s) in loading state_dict for Tiny:\n\t"
        "Missing key(s) in state_dict: \"norm.running_mean\". \n\t"
        "Unexpected key(s) in state_dict: \"zzz\", \"norm.extra\". \n\t"
        "size mismatch for blocks.0.weight: copying a param with shape torch.Size([3, 2]) from checkpoint, "
        "the shape in current model is torch.Size([2, 2]).\n\t"
        "dtype mismatch for blocks.1.bias: copying a param with dtype torch.int32 from checkpoint, the dtype in "
        "current model is torch.float32.");
    /* sizes count without strict too */
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_NON_STRICT, &f->report), MODC_KEYS);
    free(bytes);

    struct modc_named_tensor new[] = {{"zzz", {wide, MODC_FLOAT32, 1, {2}}},
                                      {"blocks.1.weight", {other, MODC_FLOAT32, 2, {2, 2}}}};

    bytes = make_state(f, 1u << B1_WEIGHT | 1u << B0_BIAS, new, 2, &length);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_STRICT, NULL), MODC_KEYS);
    assert_memory_equal(before, f->block, BLOCK);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_NON_STRICT, &f->report), MODC_OK);
    assert_report(&f->report, "_IncompatibleKeys(missing_keys=['blocks.0.bias'], unexpected_keys=['zzz'])");
    assert_true(tensor(f, B1_WEIGHT)[3] == 9.0f);
    free(bytes);

    bytes = make_state(f, 1u << HEAD_WEIGHT | 1u << EMBED_WEIGHT, NULL, 0, &length);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_STRICT, &f->report), MODC_KEYS);
    assert_report(&f->report, "Error(s) in loading state_dict for Tiny:\n\t"
                              "Missing key(s) in state_dict: \"embed.weight\", \"head.weight\". ");
    free(bytes);
}

static void test_ties_and_types(void **state)
{
    struct fixture *f = *state;
    float apart[6] = {1, 2, 3, 4, 5, 6};
    double wide[6] = {1, 2, 3, 4, 5, 6.1};
    int64_t count[1] = {12};
    size_t length;
    struct modc_named_tensor more[] = {{"head.weight", {apart, MODC_FLOAT32, 2, {3, 2}}},
                                       {"norm.num_batches_tracked", {count, MODC_INT64, 1, {1}}},
                                       {"embed.weight", {wide, MODC_FLOAT64, 2, {3, 2}}}};
    char *bytes = make_state(f, 1u << HEAD_WEIGHT | 1u << NORM_COUNT, more, 2, &length), before[BLOCK];

    memcpy(before, f->block, BLOCK);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_NON_STRICT, &f->report), MODC_KEYS);
    assert_report(&f->report,
                  "Error(s) in loading state_dict for Tiny:\n\t"
                  "tied parameters differ: embed.weight and head.weight are one tensor in current model, "
                  "but have two values in checkpoint.");
    assert_memory_equal(before, f->block, BLOCK);
    free(bytes);

    bytes = make_state(f, 1u << EMBED_WEIGHT | 1u << HEAD_WEIGHT | 1u << NORM_COUNT, more, 2, &length);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_STRICT, &f->report), MODC_OK);
    assert_true(tensor(f, EMBED_WEIGHT)[5] == 6.0f);
    assert_int_equal(*(int64_t *)f->params.tensors[NORM_COUNT], 12); /* 0-dim takes [1] */
    free(bytes);

    apart[5] = 6.1f; /* equal once float64 has become float32 */
    bytes = make_state(f, 1u << EMBED_WEIGHT | 1u << HEAD_WEIGHT | 1u << NORM_COUNT, more, 3, &length);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_STRICT, &f->report), MODC_OK);
    assert_true(tensor(f, HEAD_WEIGHT)[5] == 6.1f);
    free(bytes);
}

/* ---- weights as integers --------------------------------------------------------------------------------- */

/* Two of them are what the metadata say, two what the model does; blocks.1.weight has floats in the model. */
static const char held_header[] =
    "{\"__metadata__\":{\"modc.storage\":\"blocks.1.weight: int4(group=8, scale=float32) transposed\\n"
    "embed.weight: int4(group=8)\"},"
    "\"blocks.0.weight_scale\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
    "\"blocks.1.weight_scale\":{\"dtype\":\"F32\",\"shape\":[2,1],\"data_offsets\":[8,16]},"
    "\"embed.weight_scale\":{\"dtype\":\"F16\",\"shape\":[3,1],\"data_offsets\":[16,22]},"
    "\"blocks.2.weight_scale\":{\"dtype\":\"BF16\",\"shape\":[2,1],\"data_offsets\":[22,26]},"
    "\"blocks.0.weight\":{\"dtype\":\"I8\",\"shape\":[2,2],\"data_offsets\":[26,30]},"
    "\"blocks.2.weight\":{\"dtype\":\"I8\",\"shape\":[2,2],\"data_offsets\":[30,34]},"
    "\"embed.weight\":{\"dtype\":\"U8\",\"shape\":[3,1],\"data_offsets\":[34,37]},"
    "\"blocks.1.weight\":{\"dtype\":\"U8\",\"shape\":[2,1],\"data_offsets\":[37,39]}}";
static const float held_singles[4] = {0.5f, -0.25f, 3.0f, 0.5f};
static const uint16_t held_halves[5] = {0x3c00, 0, 0x4000, 0x3f80, 0x4000}; /* 1, 0, 2; bfloat16 1, 2 */
static const unsigned char held_integers[13] = {1, 0x80, 127, 3, 1, 2, 3, 4, 0x0f, 0x2d, 0x98, 0x9a, 0x7f};

/* The file, with every `from` in its header made `to`. The caller frees it. */
static char *make_held(const char *from, const char *to, size_t *length)
{
    char header[2048] = "";
    size_t at = 0;

    for (const char *rest = held_header; *rest != '\0';) {
        const bool here = from != NULL && strncmp(rest, from, strlen(from)) == 0;

        at += (size_t)snprintf(header + at, sizeof header - at, "%.*s", here ? (int)strlen(to) : 1,
                               here ? to : rest);
        rest += here ? strlen(from) : 1;
    }

    char *bytes = make_file(header, 39, length), *data = bytes + *length - 39;

    memcpy(data, held_singles, 16);
    memcpy(data + 16, held_halves, 10);
    memcpy(data + 26, held_integers, 13);
    return bytes;
}

static void load_held(struct fixture *f, char *bytes, size_t length)
{
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_NON_STRICT, &f->report), MODC_OK);
    assert_int_equal(f->report.unexpected_count, 0);
    free(bytes);
}

static bool has_dtype(const char *bytes, size_t length, const char *name, int dtype)
{
    struct modc_reader reader;
    struct modc_item item;

    assert_int_equal(modc_reader_open(&reader, bytes, length, NULL), MODC_OK);
    return modc_reader_find(&reader, name, &item) && item.dtype == dtype;
}

static void test_integers(void **state)
{
    static const float embed[6] = {7, -8, 0, 0, 0, 2}, first[4] = {0.5f, -64, -31.75f, -0.75f},
                       second[4] = {6, 3.5f, 3, -0.5f}, third[4] = {1, 6, 2, 8};
    struct fixture *f = *state, *other;
    size_t length;
    char *bytes = make_held(NULL, NULL, &length), *again, before[BLOCK];
    struct modc_scales scales;

    load_held(f, bytes, length);
    assert_memory_equal(tensor(f, EMBED_WEIGHT), embed, sizeof embed);
    assert_memory_equal(tensor(f, B0_WEIGHT), first, sizeof first);
    assert_memory_equal(tensor(f, B1_WEIGHT), second, sizeof second);
    assert_memory_equal(tensor(f, B2_WEIGHT), third, sizeof third);
    assert_memory_equal(f->block + 768, held_halves, 6);
    scales = modc_scales_of(&f->params.head, tensor(f, B2_WEIGHT) + 1);
    assert_true(scales.first == f->block + 896 && scales.at == 1 && scales.width == 2 && scales.group == 8 &&
                scales.groups == 1 && scales.transposed);
    assert_null(modc_scales_of(&f->params.head, tensor(f, B1_WEIGHT)).first);
    assert_null(modc_scales_of(&f->params.head, f->workspace).first);

    /* what was loaded is saved so, of a tie under both names, and loads again to the same bits */
    bytes = save(f, &length);
    assert_true(has_dtype(bytes, length, "head.weight", MODC_UINT8) &&
                has_dtype(bytes, length, "head.weight_scale", MODC_FLOAT16) &&
                has_dtype(bytes, length, "blocks.0.weight", MODC_INT8) &&
                has_dtype(bytes, length, "blocks.1.weight", MODC_FLOAT32));
    assert_int_equal(setup((void **)&other), 0);
    assert_int_equal(modc_load_bytes(&other->params.head, bytes, length, MODC_STRICT, &f->report), MODC_OK);
    assert_report(&f->report, "<All keys matched successfully>");
    assert_memory_equal(other->block, f->block, BLOCK);
    again = save(other, &length);
    assert_memory_equal(again, bytes, length);
    free(again);

    /* and goes from model to model; a tensor that was written since is floats */
    assert_int_equal(modc_reset(&other->params.head, 3), MODC_OK);
    assert_int_equal(modc_to(&f->params.head, &other->params.head), MODC_OK);
    again = save(other, &length);
    assert_memory_equal(again, bytes, length);
    free(again);
    tensor(other, B0_WEIGHT)[1] = 0.3f;
    again = save(other, &length);
    assert_true(has_dtype(again, length, "blocks.0.weight", MODC_FLOAT32) &&
                has_dtype(again, length, "blocks.2.weight", MODC_INT8));
    assert_false(has_dtype(again, length, "blocks.0.weight_scale", MODC_FLOAT32));
    load_held(f, again, length);
    assert_memory_equal(tensor(f, B0_WEIGHT), tensor(other, B0_WEIGHT), sizeof first);
    assert_true((unsigned char)f->block[832] == 0xff && (unsigned char)other->block[832] != 0xff);

    /* floats in their place, of a draw or a file, have no scales */
    assert_int_equal(modc_reset(&other->params.head, 3), MODC_OK);
    memset(before, 0xff, sizeof before);
    assert_memory_equal(other->block + 896, before, 4);
    free(bytes);
    bytes = save(other, &length);
    assert_true(has_dtype(bytes, length, "head.weight", MODC_FLOAT32));
    load_held(f, bytes, length);
    assert_memory_equal(f->block, other->block, BLOCK - 192);
    assert_memory_equal(f->block + 768, before, 6);

    /* no scales where tensors lie elsewhere; assigning takes no integers */
    bytes = make_held(NULL, NULL, &length);
    other->params.head.block = NULL;
    load_held(other, bytes, length);
    assert_memory_equal(tensor(other, B2_WEIGHT), third, sizeof third);
    bytes = save(other, &length);
    assert_true(has_dtype(bytes, length, "blocks.2.weight", MODC_FLOAT32));
    free(bytes);
    bytes = make_held(NULL, NULL, &length);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_ASSIGN, &f->report), MODC_KEYS);
    assert_int_equal(f->report.faults[0].kind, MODC_FAULT_SHAPE);
    free(bytes);
    free(other);
}

static void assert_refused(struct fixture *f, char *bytes, size_t length, const char *expected)
{
    char before[BLOCK], text[512];
    struct tiny_params params = f->params;

    memcpy(before, f->block, BLOCK);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_NON_STRICT, &f->report), MODC_KEYS);
    assert_memory_equal(before, f->block, BLOCK);
    assert_memory_equal(&params, &f->params, sizeof params);
    snprintf(text, sizeof text, "Error(s) in loading state_dict for Tiny:\n\t%s", expected);
    assert_report(&f->report, text);
    free(bytes);
}

static void test_integer_faults(void **state)
{
    static const struct {
        const char *from, *to, *expected;
    } rows[] = {
        {"embed.weight: int4(group=8)", "embed.weight: int4(group=16)",
         "integers mismatch for embed.weight: checkpoint has it as int4(group=16), current model as int4(group=8). "
         "`storage: {embed.weight: int4(group=16)}` in the spec takes it as it is; `modc quantize` rounds floats to the model's."},
        {"embed.weight: int4(group=8)", "blocks.2.weight: int8(group=8, scale=bfloat16, rounding=gguf)",
         "integers mismatch for blocks.2.weight: checkpoint has it as int8(group=8, scale=bfloat16, rounding=gguf), "
         "current model as int8(group=8, scale=bfloat16, rounding=gguf) transposed."},
        {"embed.weight: int4(group=8)", "embed.weight: int4(group=9)",
         "integers mismatch for embed.weight: \"modc.storage\" in the metadata of checkpoint says what is no storage "
         "of integers."},
        {"embed.weight: int4(group=8)", "embed.weight: float16",
         "integers mismatch for embed.weight: \"modc.storage\" in the metadata of checkpoint says what is no storage "
         "of integers."},
        {"blocks.1.weight: int4", "blocks.9.weight: int4",
         "integers mismatch for blocks.1.weight: nothing says how they were rounded, neither \"modc.storage\" in the "
         "metadata of checkpoint nor `storage` of current model."},
        {"\"embed.weight_scale\"", "\"embed.weight_scales\"",
         "integers mismatch for embed.weight: checkpoint has no embed.weight_scale beside them."},
        {"\"U8\",\"shape\":[3,1]", "\"I8\",\"shape\":[3,1]",
         "integers mismatch for embed.weight: checkpoint has it as int4(group=8), whose integers cannot be I8 "
         "torch.Size([3, 1])."},
        {"\"U8\",\"shape\":[3,1]", "\"U8\",\"shape\":[1,3]",
         "integers mismatch for embed.weight: checkpoint has it as int4(group=8), whose integers cannot be U8 "
         "torch.Size([1, 3])."},
        {"\"F16\",\"shape\":[3,1]", "\"BF16\",\"shape\":[3,1]",
         "integers mismatch for embed.weight: checkpoint has it as int4(group=8), whose scales cannot be BF16 "
         "torch.Size([3, 1])."},
        {"\"F32\",\"shape\":[2]", "\"F32\",\"shape\":[1,2]",
         "integers mismatch for blocks.0.weight: checkpoint has it as int8, whose scales cannot be F32 "
         "torch.Size([1, 2])."},
        {"blocks.1.weight", "norm.weight",
         "integers mismatch for norm.weight: checkpoint has it as int4(group=8, scale=float32) transposed, which is "
         "for matrices."},
    };
    static const float wrong[] = {NAN, INFINITY, -INFINITY, 3e38f, -3e37f};
    struct fixture *f = *state;
    size_t length;
    char *bytes = make_held(NULL, NULL, &length);

    load_held(f, bytes, length);
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        bytes = make_held(rows[i].from, rows[i].to, &length);
        assert_refused(f, bytes, length, rows[i].expected);
    }
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        bytes = make_held(NULL, NULL, &length);
        memcpy(bytes + length - 39, &wrong[i], sizeof wrong[i]);
        assert_refused(
            f, bytes, length,
            "integers mismatch for blocks.0.weight: blocks.0.weight_scale has what is not finite, or "
            "makes numbers that are not.");
    }

    /* as large as they may be: 1 times it */
    bytes = make_held(NULL, NULL, &length);
    memcpy(bytes + length - 39, &wrong[3], sizeof wrong[3]);
    bytes[length - 13 + 1] = 1;
    load_held(f, bytes, length);
    assert_true(tensor(f, B0_WEIGHT)[1] == 3e38f);

    /* one of a tie has other integers, or floats */
    bytes = make_held("blocks.1.weight", "head.weight", &length);
    assert_refused(
        f, bytes, length,
        "integers mismatch for head.weight: checkpoint has it as int4(group=8, scale=float32) transposed, "
        "current model as int4(group=8). `storage: {head.weight: int4(group=8, scale=float32)}` in the spec takes it as it is; `modc quantize` rounds floats to the model's.");
    bytes = make_file("{\"embed.weight\":{\"dtype\":\"U8\",\"shape\":[3,1],\"data_offsets\":[0,3]},"
                      "\"head.weight\":{\"dtype\":\"U8\",\"shape\":[3,1],\"data_offsets\":[3,6]},"
                      "\"embed.weight_scale\":{\"dtype\":\"F16\",\"shape\":[3,1],\"data_offsets\":[6,12]},"
                      "\"head.weight_scale\":{\"dtype\":\"F16\",\"shape\":[3,1],\"data_offsets\":[12,18]}}",
                      18, &length);
    bytes[length - 15] = 1; /* of head.weight */
    assert_refused(f, bytes, length,
                   "tied parameters differ: embed.weight and head.weight are one tensor in current model, "
                   "but have two values in checkpoint.");
    bytes = make_file("{\"embed.weight\":{\"dtype\":\"U8\",\"shape\":[3,1],\"data_offsets\":[0,3]},"
                      "\"embed.weight_scale\":{\"dtype\":\"F16\",\"shape\":[3,1],\"data_offsets\":[3,9]},"
                      "\"head.weight\":{\"dtype\":\"F32\",\"shape\":[3,2],\"data_offsets\":[9,33]}}",
                      33, &length);
    assert_refused(f, bytes, length,
                   "tied parameters differ: embed.weight and head.weight are one tensor in current model, "
                   "but have two values in checkpoint.");

    /* scales without integers are keys that nobody knows */
    bytes = make_file("{\"blocks.0.weight_scale\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}",
                      8, &length);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_NON_STRICT, &f->report), MODC_OK);
    assert_int_equal(f->report.unexpected_count, 1);
    assert_string_equal(f->report.text, "blocks.0.weight_scale");
    free(bytes);

    /* parts of it share scales in ways of their own */
    struct modc_integers parts[] = {integers[0], integers[1], integers[2]};
    struct modc_model model = tiny_model;

    parts[1].apart = true;
    model.integers = parts;
    f->params.head.model = &model;
    bytes = make_held(NULL, NULL, &length);
    assert_refused(
        f, bytes, length,
        "integers mismatch for blocks.0.weight: current model multiplies by parts of it that share scales "
        "in other ways: load its floats.");
}

static void test_assign(void **state)
{
    struct fixture *f = *state;
    size_t length;
    char *bytes = save(f, &length);

    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_STRICT | MODC_ASSIGN, &f->report),
                     MODC_OK);
    assert_true((char *)f->params.tensors[B0_BIAS] >= bytes &&
                (char *)f->params.tensors[B0_BIAS] < bytes + length);
    assert_ptr_equal(f->params.tensors[HEAD_WEIGHT], f->params.tensors[EMBED_WEIGHT]);
    assert_int_equal(modc_reset(&f->params.head, 0), MODC_READ_ONLY);
    assert_int_equal(modc_load_bytes(&f->params.head, bytes, length, MODC_STRICT, &f->report),
                     MODC_READ_ONLY);
    assert_report(&f->report, "the tensors lie in read-only memory");
    free(bytes);
    assert_int_equal(modc_load_bytes(&f->params.head, NULL, 0, MODC_STRICT, NULL), MODC_POINTER);
    assert_int_equal(modc_load_bytes(&f->params.head, "", 0, 8, NULL), MODC_ARGUMENT);
}

static enum modc_status pack_status = MODC_OK;

static enum modc_status tiny_pack(struct modc_params *params)
{
    *(int *)params->packed = 5;
    return pack_status;
}

static void test_pack(void **state)
{
    struct fixture *f = *state;
    MODC_ALIGNED char packed[64], other_block[BLOCK];
    struct modc_model model = tiny_model;

    model.pack = tiny_pack;
    model.packed_block = 64;
    f->params.head.model = &model;
    assert_int_equal(modc_check(&f->net.head, 128, true, false), MODC_STALE);
    assert_int_equal(modc_pack(&f->params.head, packed, 63), MODC_SIZE);
    assert_int_equal(modc_pack(&f->params.head, packed + 1, 64), MODC_ALIGNMENT);
    assert_int_equal(modc_pack(&f->params.head, NULL, 0), MODC_POINTER);
    assert_int_equal(modc_pack(&f->params.head, packed, 64), MODC_OK);
    assert_int_equal(modc_check(&f->net.head, 128, true, true), MODC_OK);
    assert_int_equal(modc_check(&f->net.head, 129, true, true), MODC_WORKSPACE);
    modc_changed(&f->params.head);
    assert_int_equal(modc_check(&f->net.head, 128, true, true), MODC_STALE);
    assert_int_equal(modc_check(&f->net.head, 128, false, false), MODC_OK);
    assert_int_equal(modc_pack(&f->params.head, NULL, 0), MODC_OK);
    f->params.head.buffer_version++;
    assert_int_equal(modc_check(&f->net.head, 128, true, false), MODC_OK);
    assert_int_equal(modc_check(&f->net.head, 128, true, true), MODC_STALE);

    /* Others in the same block, also where they fail; copies of the struct are the same parameters. */
    struct tiny_params other, moved;

    assert_int_equal(modc_bind(&other.head, &model, other_block, BLOCK), MODC_OK);
    assert_int_equal(modc_pack(&f->params.head, NULL, 0), MODC_OK);
    assert_int_equal(modc_pack(&other.head, packed, 64), MODC_OK);
    assert_int_equal(modc_check(&f->net.head, 128, true, true), MODC_STALE);
    assert_int_equal(modc_check(&f->net.head, 128, false, false), MODC_OK);
    f->net.head.params = &other.head;
    assert_int_equal(modc_check(&f->net.head, 128, true, true), MODC_OK);
    pack_status = MODC_UNSUPPORTED;
    assert_int_equal(modc_pack(&f->params.head, NULL, 0), MODC_UNSUPPORTED);
    assert_int_equal(modc_check(&f->net.head, 128, true, true), MODC_STALE);
    pack_status = MODC_OK;
    assert_int_equal(modc_pack(&f->params.head, NULL, 0), MODC_OK);
    moved = f->params;
    f->net.head.params = &moved.head;
    assert_int_equal(modc_check(&f->net.head, 128, true, true), MODC_OK);
    f->net.head.params = &f->params.head;
    pack_status = MODC_UNSUPPORTED;
    modc_changed(&f->params.head);
    assert_int_equal(modc_pack(&f->params.head, NULL, 0), MODC_UNSUPPORTED);
    assert_int_equal(modc_check(&f->net.head, 128, true, false), MODC_STALE);
    pack_status = MODC_OK;
}

/* ---- state hooks --------------------------------------------------------------------------------------- */

static struct text trace;

static enum modc_status trace_state(struct modc_state_call *call)
{
    char line[64];
    int length = snprintf(line, sizeof line, "%s%s ", (const char *)call->user, call->path);

    append(&trace, line, (size_t)length);
    return MODC_OK;
}

static enum modc_status forgive(struct modc_state_call *call)
{
    assert_false(call->loaded);
    modc_report_forget_missing(call->report, B0_BIAS);
    modc_report_forget_missing(call->report, B0_BIAS);
    modc_report_forget_unexpected(call->report);
    return MODC_OK;
}

static enum modc_status refuse(struct modc_state_call *call)
{
    (void)call;
    return MODC_HOOK_ERROR;
}

static enum modc_status substitute(struct modc_state_call *call)
{
    struct modc_reader *file = call->user;

    call->bytes = file->bytes;
    call->length = file->length;
    return MODC_OK;
}

static void test_state_hooks(void **state)
{
    struct fixture *f = *state;
    struct modc_params *params = &f->params.head;
    struct modc_state_hook pre[2] = {{.call = trace_state, .user = "<"}, {.call = trace_state, .user = "<"}};
    struct modc_state_hook post[2] = {{.call = trace_state, .user = ">"}, {.call = trace_state, .user = ">"}};
    struct modc_state_hook one = {.call = forgive};
    float wide[2] = {0};
    struct modc_named_tensor more = {"zzz", {wide, MODC_FLOAT32, 1, {2}}};
    size_t length, short_length;
    char *bytes = save(f, &length), *short_bytes = make_state(f, 1u << B0_BIAS, &more, 1, &short_length);

    assert_int_equal(modc_register_state_hook(params, MODULES, MODC_LOAD_PRE, &pre[0]), MODC_INDEX);
    assert_int_equal(modc_register_state_hook(params, TINY, MODC_LOAD_PRE, &pre[0]), MODC_OK);
    assert_int_equal(modc_register_state_hook(params, TINY, MODC_LOAD_PRE, &pre[0]), MODC_ARGUMENT);
    assert_int_equal(modc_register_state_hook(params, TINY_BLOCKS_1, MODC_LOAD_PRE, &pre[1]), MODC_OK);
    assert_int_equal(modc_register_state_hook(params, TINY, MODC_LOAD_POST, &post[0]), MODC_OK);
    assert_int_equal(modc_register_state_hook(params, TINY_BLOCKS, MODC_LOAD_POST, &post[1]), MODC_OK);
    memset(&trace, 0, sizeof trace);
    assert_int_equal(modc_load_bytes(params, bytes, length, MODC_STRICT, NULL), MODC_OK);
    assert_string_equal(trace.bytes, "< <blocks.1 >blocks > ");
    for (int i = 0; i < 2; i++) {
        modc_state_hook_remove(&pre[i]);
        modc_state_hook_remove(&pre[i]);
        modc_state_hook_remove(&post[i]);
    }
    assert_null(params->state_hooks);

    assert_int_equal(modc_register_state_hook(params, TINY, MODC_LOAD_POST, &one), MODC_OK);
    assert_int_equal(modc_load_bytes(params, short_bytes, short_length, MODC_STRICT, &f->report), MODC_OK);
    modc_state_hook_remove(&one);
    assert_int_equal(modc_load_bytes(params, short_bytes, short_length, MODC_STRICT, &f->report), MODC_KEYS);

    struct modc_reader file;

    assert_int_equal(modc_reader_open(&file, bytes, length, NULL), MODC_OK);
    one.call = substitute;
    one.user = &file;
    assert_int_equal(modc_register_state_hook(params, TINY, MODC_LOAD_PRE, &one), MODC_OK);
    assert_int_equal(modc_load_bytes(params, short_bytes, short_length, MODC_STRICT, &f->report), MODC_OK);
    modc_state_hook_remove(&one);

    one.call = refuse;
    assert_int_equal(modc_register_state_hook(params, TINY, MODC_STATE_DICT_PRE, &one), MODC_OK);
    assert_int_equal(modc_save_bytes(params, NULL, 0, &length), MODC_HOOK_ERROR);
    free(bytes);
    free(short_bytes);
}

/* ---- from one model to another ------------------------------------------------------------------------- */

/* The tiny model in another type, in blocks twice as large, which is enough for float64. */
static struct modc_model retyped(struct modc_key *wide, enum modc_dtype dtype)
{
    struct modc_model model = tiny_model;

    for (int i = 0; i < tiny_model.key_count; i++) {
        wide[i] = tiny_model.keys[i];
        if (wide[i].dtype == MODC_FLOAT32)
            wide[i].dtype = dtype;
    }
    model.keys = wide;
    model.param_block *= 2;
    return model;
}

/* To 16 bits: to the nearest, of two the even one, to infinity; back: as they are. */
static void test_to_halves(void **state)
{
    static const struct {
        enum modc_dtype dtype;
        float from, to;
    } numbers[] = {
        {MODC_FLOAT16, 1.0f + 0x1p-11f, 1.0f},
        {MODC_FLOAT16, 1.0f + 0x3p-11f, 1.0f + 0x1p-9f},
        {MODC_FLOAT16, 65520.0f, INFINITY},
        {MODC_FLOAT16, -0x1p-24f, -0x1p-24f},
        {MODC_FLOAT16, 0x1p-26f, 0.0f},
        {MODC_BFLOAT16, 1.0f + 0x1p-8f, 1.0f},
        {MODC_BFLOAT16, 1.0f + 0x3p-8f, 1.0f + 0x1p-6f},
        {MODC_BFLOAT16, 3e38f, 0x1.c4p+127f},
        {MODC_BFLOAT16, 0x1.ffp127f, INFINITY},
    };
    struct fixture *f = *state;
    static MODC_ALIGNED char half_block[2 * BLOCK];

    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct modc_key half_keys[KEYS];
        struct modc_model model = retyped(half_keys, numbers[i].dtype);
        struct tiny_params half;

        assert_int_equal(modc_bind(&half.head, &model, half_block, sizeof half_block), MODC_OK);
        tensor(f, EMBED_WEIGHT)[2] = numbers[i].from;
        assert_int_equal(modc_to(&f->params.head, &half.head), MODC_OK);
        assert_true(modc_number((const char *)half.tensors[EMBED_WEIGHT] + 4, numbers[i].dtype) ==
                    (double)numbers[i].to);
        assert_int_equal(modc_to(&half.head, &f->params.head), MODC_OK);
        assert_true(tensor(f, EMBED_WEIGHT)[2] == numbers[i].to);
    }
}

static void test_to(void **state)
{
    struct fixture *f = *state;
    static MODC_ALIGNED char wide_block[2 * BLOCK];
    struct modc_key wide_keys[KEYS];
    struct modc_model model = retyped(wide_keys, MODC_FLOAT64);
    struct tiny_params wide, other;
    double *embed;
    uint64_t version;
    char before[BLOCK];

    assert_int_equal(modc_bind(&wide.head, &model, wide_block, sizeof wide_block), MODC_OK);
    assert_int_equal(modc_to(&f->params.head, &wide.head), MODC_OK);
    embed = wide.tensors[EMBED_WEIGHT];
    for (int i = 0; i < 6; i++)
        assert_true(embed[i] == (double)tensor(f, EMBED_WEIGHT)[i]);
    assert_ptr_equal(wide.tensors[HEAD_WEIGHT], embed);

    /* back: rounded; integers and booleans as they are; the packed block is stale */
    embed[0] = 0.1;
    *(int64_t *)wide.tensors[NORM_COUNT] = INT64_MAX;
    ((bool *)wide.tensors[MASK])[1] = true;
    version = f->params.head.version;
    assert_int_equal(modc_to(&wide.head, &f->params.head), MODC_OK);
    assert_true(tensor(f, EMBED_WEIGHT)[0] == 0.1f);
    assert_true(*(int64_t *)f->params.tensors[NORM_COUNT] == INT64_MAX);
    assert_true(((bool *)f->params.tensors[MASK])[1]);
    assert_true(f->params.head.version == version + 1);
    assert_int_equal(modc_to(&wide.head, &wide.head), MODC_OK);

    /* nothing is written where something does not fit */
    memcpy(before, f->block, BLOCK);
    embed[1] = 7;
    assert_int_equal(modc_to(NULL, &f->params.head), MODC_POINTER);
    assert_int_equal(modc_to(&wide.head, NULL), MODC_POINTER);
    memset(&other, 0, sizeof other);
    assert_int_equal(modc_to(&other.head, &f->params.head), MODC_POINTER);
    assert_int_equal(modc_to(&wide.head, &other.head), MODC_POINTER);
    wide_keys[B2_WEIGHT].name = "blocks.3.weight";
    assert_int_equal(modc_to(&wide.head, &f->params.head), MODC_ARGUMENT);
    wide_keys[B2_WEIGHT].name = "blocks.2.weight";
    wide_keys[B2_WEIGHT].dims[0] = 3;
    assert_int_equal(modc_to(&wide.head, &f->params.head), MODC_ARGUMENT);
    wide_keys[B2_WEIGHT].dims[0] = 2;
    wide_keys[HEAD_WEIGHT].tied = 0;
    assert_int_equal(modc_to(&wide.head, &f->params.head), MODC_ARGUMENT);
    wide_keys[HEAD_WEIGHT].tied = HEAD_WEIGHT - EMBED_WEIGHT;
    wide_keys[NORM_COUNT].dtype = MODC_INT32;
    assert_int_equal(modc_to(&wide.head, &f->params.head), MODC_ARGUMENT);
    wide_keys[NORM_COUNT].dtype = MODC_INT64;
    model.key_count--;
    assert_int_equal(modc_to(&wide.head, &f->params.head), MODC_ARGUMENT);
    model.key_count++;
    wide.tensors[B2_WEIGHT] = NULL; /* lies only packed, and would convert */
    assert_int_equal(modc_to(&wide.head, &f->params.head), MODC_POINTER);
    f->params.head.read_only = true;
    assert_int_equal(modc_to(&wide.head, &f->params.head), MODC_READ_ONLY);
    assert_memory_equal(before, f->block, BLOCK);
}

/* ---- initial weights ----------------------------------------------------------------------------------- */

/* Draws tensors of these sizes into out, one behind the other. */
static void draw_all(uint64_t seed, enum modc_dtype dtype, int count, const int *elements,
                     const struct modc_draw *d, void *out)
{
    struct {
        struct modc_params head;
        void *tensors[4];
    } params;
    struct modc_key k[4];
    struct modc_model model = {
        .params_bytes = sizeof params, .key_count = count, .keys = k, .draw_count = count, .draws = d};
    char *at = out;

    memset(&params, 0, sizeof params);
    memset(k, 0, sizeof k);
    for (int i = 0; i < count; i++) {
        k[i].name = "";
        k[i].dtype = dtype;
        k[i].ndim = 1;
        k[i].dims[0] = elements[i];
        k[i].flags = MODC_KEY_PARAMETER;
        k[i].init = MODC_INIT_UNIFORM;
        params.tensors[i] = at;
        at += (size_t)elements[i] * modc_dtype_bytes(dtype);
    }
    params.head.model = &model;
    assert_int_equal(modc_reset(&params.head, seed), MODC_OK);
}

#define BITS(value, expected) assert_true((value) == (expected))

/* The check values of module-semantics 5.1a. */
static void test_reset(void **state)
{
    float v[1000];
    double wide[4];

    (void)state;
    draw_all(0, MODC_FLOAT32, 3, (int[]){256, 64, 1},
             (struct modc_draw[]){{0, MODC_INIT_UNIFORM, -0.5, 0.5},
                                  {1, MODC_INIT_UNIFORM, -0.5, 0.5},
                                  {2, MODC_INIT_UNIFORM, 0, 1}},
             v);
    BITS(v[0], -0x1.eaa8p-9f);
    BITS(v[1], 0x1.12a8bcp-2f);
    BITS(v[2], -0x1.a5662cp-2f);
    BITS(v[255], -0x1.7ab708p-3f);
    BITS(v[256], -0x1.fb77ccp-2f);
    BITS(v[257], 0x1.ce3a38p-3f);
    BITS(v[319], 0x1.41092p-5f);
    BITS(v[320], 0x1.156252p-1f);

    double bound = 0.57735026918962576; /* 1 / sqrt(3) */

    draw_all(
        42, MODC_FLOAT32, 2, (int[]){6, 2},
        (struct modc_draw[]){{0, MODC_INIT_UNIFORM, -bound, bound}, {1, MODC_INIT_UNIFORM, -bound, bound}},
        v);
    BITS(v[0], 0x1.c40012p-2f); /* 0x1.c4001p-2 without fused multiply-adds */
    BITS(v[1], 0x1.eab4cap-2f);
    BITS(v[2], -0x1.1501c4p-3f);
    BITS(v[5], 0x1.dd3334p-4f);
    BITS(v[6], -0x1.1fd4fap-2f);
    BITS(v[7], 0x1.5b3496p-2f);

    bound = 1.0 / 3.0;
    draw_all(
        1, MODC_FLOAT32, 2, (int[]){144, 16},
        (struct modc_draw[]){{0, MODC_INIT_UNIFORM, -bound, bound}, {1, MODC_INIT_UNIFORM, -bound, bound}},
        v);
    BITS(v[0], 0x1.5fc0c6p-3f);
    BITS(v[143], 0x1.f38320p-4f);
    BITS(v[144], 0x1.a68dd6p-4f);
    BITS(v[159], -0x1.be2a4p-4f);

    draw_all(3, MODC_FLOAT32, 2, (int[]){80, 1},
             (struct modc_draw[]){{0, MODC_INIT_NORMAL, 0, 1}, {1, MODC_INIT_UNIFORM, 0, 1}}, v);
    BITS(v[0], -0x1.39ef5ep-4f);
    BITS(v[1], 0x1.7084c8p-2f);
    BITS(v[2], -0x1.906482p-1f);
    BITS(v[79], -0x1.e337eap+0f);
    BITS(v[80], 0x1.1b0750p-4f);

    draw_all(3, MODC_FLOAT32, 1, (int[]){9}, (struct modc_draw[]){{0, MODC_INIT_NORMAL, 0, 1}}, v);
    BITS(v[0], 0x1.9b47p-1f);
    BITS(v[1], 0x1.660f0cp-3f);
    BITS(v[2], 0x1.6c744cp-4f);
    BITS(v[8], -0x1.6f67eap+0f);

    draw_all(0, MODC_FLOAT32, 1, (int[]){16}, (struct modc_draw[]){{0, MODC_INIT_NORMAL, 0, 1}}, v);
    BITS(v[0], -0x1.20370ap+0f);
    BITS(v[1], -0x1.270114p+0f);
    BITS(v[8], 0x1.4a027p-2f);
    draw_all(0, MODC_FLOAT32, 1, (int[]){2}, (struct modc_draw[]){{0, MODC_INIT_NORMAL, 0, 1}}, v);
    BITS(v[0], 0x1.8a7eb8p+0f);
    BITS(v[1], -0x1.2c78ap-2f);
    draw_all(0, MODC_FLOAT64, 1, (int[]){3}, (struct modc_draw[]){{0, MODC_INIT_UNIFORM, 0, 1}}, wide);
    BITS(wide[0], 0x1.f0aac97c4aa2fp-1);
    assert_int_equal(modc_reset(NULL, 0), MODC_POINTER);
}

static void test_reset_model(void **state)
{
    struct fixture *f = *state;
    float v[40], *embed = tensor(f, EMBED_WEIGHT);

    /* The tied head draws, and its values are thrown away. */
    draw_all(0, MODC_FLOAT32, 3, (int[]){6, 18, 4},
             (struct modc_draw[]){
                 {0, MODC_INIT_NORMAL, 0, 1}, {1, MODC_INIT_UNIFORM, -1, 1}, {2, MODC_INIT_UNIFORM, -1, 1}},
             v);
    BITS(embed[0], v[0]);
    BITS(embed[1], v[1]);
    BITS(embed[2], 0.0f); /* the padding row */
    BITS(embed[3], 0.0f);
    BITS(embed[5], v[5]);
    BITS(tensor(f, B0_WEIGHT)[0], v[6]);
    BITS(tensor(f, B1_BIAS)[0], 0.25f);
    BITS(tensor(f, B2_WEIGHT)[0], v[24]);
    BITS(tensor(f, NORM_VAR)[0], 1.0f);
}

/* ---- looking around ------------------------------------------------------------------------------------ */

static void list(struct modc_names *it, const char *expected)
{
    struct text text = {"", 0};
    char name[64];

    while (modc_next(it)) {
        size_t length = modc_names_text(it, name, sizeof name);

        name[length] = ' ';
        append(&text, name, length + 1);
    }
    assert_string_equal(text.bytes, expected);
}

static void test_names(void **state)
{
    struct modc_names it;
    int index;
    char name[4];

    (void)state;
    modc_named_parameters(&it, &tiny_model, TINY, "", true, true);
    list(&it,
         "embed.weight norm.weight norm.bias blocks.0.weight blocks.0.bias blocks.1.weight blocks.1.bias "
         "blocks.2.weight ");
    modc_named_parameters(&it, &tiny_model, TINY_HEAD, "p", true, true);
    list(&it, "p.weight ");
    modc_named_parameters(&it, &tiny_model, TINY, "p", true, false);
    list(&it, "p.embed.weight p.norm.weight p.norm.bias p.blocks.0.weight p.blocks.0.bias p.blocks.1.weight "
              "p.blocks.1.bias p.blocks.2.weight p.head.weight ");
    modc_named_parameters(&it, &tiny_model, TINY, "", false, true);
    list(&it, "");
    modc_named_buffers(&it, &tiny_model, TINY, "", true, true);
    list(&it, "mask norm.running_mean norm.running_var norm.num_batches_tracked ");
    modc_named_buffers(&it, &tiny_model, TINY, "", false, true);
    list(&it, "mask ");
    modc_named_modules(&it, &tiny_model, TINY, "");
    list(&it, " embed norm blocks blocks.0 blocks.1 blocks.2 head ");
    modc_named_modules(&it, &tiny_model, TINY_BLOCKS, "b");
    list(&it, "b b.0 b.1 b.2 ");
    modc_named_children(&it, &tiny_model, TINY);
    list(&it, "embed norm blocks head ");
    assert_true(modc_get_submodule(&tiny_model, "blocks.1", &index) == MODC_OK && index == TINY_BLOCKS_1);
    assert_true(modc_get_submodule(&tiny_model, "", &index) == MODC_OK && index == TINY);
    assert_int_equal(modc_get_submodule(&tiny_model, "blocks.", &index), MODC_NAME);
    assert_true(modc_get_parameter(&tiny_model, "head.weight", &index) == MODC_OK && index == HEAD_WEIGHT);
    assert_int_equal(modc_get_parameter(&tiny_model, "norm.running_mean", &index), MODC_NAME);
    assert_true(modc_get_buffer(&tiny_model, "mask", &index) == MODC_OK && index == MASK);
    assert_int_equal(modc_get_buffer(&tiny_model, "head.weight", &index), MODC_NAME);
    assert_true(modc_get_entry(&tiny_model, "forward", &index) == MODC_OK && index == 0);
    assert_int_equal(modc_get_entry(&tiny_model, "act", &index), MODC_NAME);
    modc_named_children(&it, &tiny_model, TINY);
    assert_true(modc_next(&it));
    assert_int_equal(modc_names_text(&it, name, sizeof name), 5);
    assert_string_equal(name, "emb");
}

static void test_print(void **state)
{
    struct text text = {"", 0};

    (void)state;
    modc_print(&tiny_model, append, &text);
    assert_string_equal(text.bytes, "Tiny(\n"
                                    "  (embed): Embedding(3, 2)\n"
                                    "  (norm): BatchNorm1d(2, eps=1e-05)\n"
                                    "  (blocks): ModuleList(\n"
                                    "    (0-1): 2 x Linear(in_features=2, out_features=2, bias=True)\n"
                                    "    (2): Linear(in_features=2, out_features=2, bias=False)\n"
                                    "  )\n"
                                    "  (head): Linear(in_features=2, out_features=3, bias=False)\n"
                                    ")");

    static const struct modc_module lines[] = {
        {"", "", "Outer", "one\ntwo", -1, 2, false},
        {"a", "a", "Inner", "x\ny", 0, 0, false},
        {"b", "b", "ModuleList", "", 0, 0, true},
    };
    struct modc_model model = {.module_count = 3, .modules = lines};

    text.length = 0;
    modc_print(&model, append, &text);
    assert_string_equal(text.bytes,
                        "Outer(\n  one\n  two\n  (a): Inner(\n    x\n    y\n  )\n  (b): ModuleList()\n)");
}

/* ---- hooks --------------------------------------------------------------------------------------------- */

struct tracer {
    struct modc_hook hook;
    const char *name;
    enum modc_status status;
    struct tracer *remove, *add; /* done in the call */
    int add_module;
    float *replace; /* output or input values to point at */
    int ndim;       /* sets it, if not 0 */
};

static enum modc_status trace_call(struct modc_hook_call *call)
{
    struct tracer *t = call->user;
    struct modc_tensor *tensors = call->outputs != NULL ? call->outputs : call->inputs;
    char line[64];
    int length = snprintf(line, sizeof line, "%s%s%s ", t->name, call->path,
                          call->outputs != NULL ? "" : "-");

    append(&trace, line, (size_t)length);
    if (t->remove != NULL)
        modc_hook_remove(&t->remove->hook);
    if (t->add != NULL)
        assert_int_equal(modc_register_forward_hook(call->context, t->add_module, &t->add->hook, 0), MODC_OK);
    t->add = NULL;
    if (t->replace != NULL)
        tensors[0].data = t->replace;
    if (t->ndim != 0)
        tensors[0].ndim = t->ndim;
    return t->status;
}

static struct tracer tracer(const char *name)
{
    struct tracer t;

    memset(&t, 0, sizeof t);
    t.name = name;
    t.hook.call = trace_call;
    return t;
}

static void pre(struct fixture *f, int module, struct tracer *t, unsigned flags)
{
    t->hook.user = t;
    assert_int_equal(modc_register_forward_pre_hook(&f->net.head, module, &t->hook, flags), MODC_OK);
}

static void post(struct fixture *f, int module, struct tracer *t, unsigned flags)
{
    t->hook.user = t;
    assert_int_equal(modc_register_forward_hook(&f->net.head, module, &t->hook, flags), MODC_OK);
}

/* Calls the model on {1, 2}; expects this status and this trace. Returns y[1]. */
static float call(struct fixture *f, enum modc_status expected, const char *text)
{
    float x[2] = {1, 2}, y[2] = {0, 0};
    int given[1] = {1};
    const void *inputs[1] = {x};
    void *outputs[1] = {y};

    memset(&trace, 0, sizeof trace);
    assert_int_equal(entries[0].call(&f->net.head, given, inputs, outputs), expected);
    assert_string_equal(trace.bytes, text);
    assert_null(f->net.head.calls);
    return y[1];
}

static void test_hook_order(void **state)
{
    struct fixture *f = *state;
    struct tracer a = tracer("a"), b = tracer("b"), c = tracer("c"), d = tracer("d"), g = tracer("g"),
                  h = tracer("h");
    struct modc_hook_set set = {NULL};

    assert_false(modc_hooked(&f->net.head));
    assert_true(call(f, MODC_OK, "") == 5.0f);
    post(f, TINY_BLOCKS_0, &a, 0);
    post(f, TINY_BLOCKS_0, &b, MODC_PREPEND);
    post(f, TINY_BLOCKS_0, &c, MODC_PREPEND | MODC_WITH_KWARGS);
    pre(f, TINY, &d, 0);
    assert_true(modc_hooked(&f->net.head));
    assert_true(call(f, MODC_OK, "d- cblocks.0 bblocks.0 ablocks.0 ") == 5.0f);
    g.hook.user = &g;
    h.hook.user = &h;
    assert_int_equal(modc_register_module_forward_pre_hook(&set, &g.hook, 0), MODC_OK);
    assert_int_equal(modc_register_module_forward_hook(&set, &h.hook, 0), MODC_OK);
    assert_int_equal(modc_attach(&f->net.head, &set), MODC_OK);
    call(f, MODC_OK, "g- d- gblocks.0- hblocks.0 cblocks.0 bblocks.0 ablocks.0 gblocks.1- hblocks.1 h ");
    modc_attach(&f->net.head, NULL);
    modc_hook_remove(&b.hook);
    modc_hook_remove(&b.hook);
    call(f, MODC_OK, "d- cblocks.0 ablocks.0 ");
    modc_hook_remove(&a.hook);
    modc_hook_remove(&c.hook);
    modc_hook_remove(&d.hook);
    assert_false(modc_hooked(&f->net.head));
}

static void test_hook_registration(void **state)
{
    struct fixture *f = *state;
    struct tracer a = tracer("a"), many[MODC_MAX_HOOKS + 1];
    struct modc_hook empty = {.call = NULL};
    struct modc_hook_set set = {NULL};
    struct modc_model bare = tiny_model;

    assert_int_equal(modc_register_forward_hook(&f->net.head, TINY, &empty, 0), MODC_POINTER);
    assert_int_equal(modc_register_forward_hook(&f->net.head, MODULES, &a.hook, 0), MODC_INDEX);
    assert_int_equal(modc_register_forward_hook(&f->net.head, -1, &a.hook, 0), MODC_INDEX);
    assert_int_equal(modc_register_forward_pre_hook(&f->net.head, TINY, &a.hook, MODC_ALWAYS_CALL),
                     MODC_ARGUMENT);
    assert_int_equal(modc_register_module_forward_hook(&set, &a.hook, MODC_PREPEND), MODC_ARGUMENT);
    assert_int_equal(modc_register_forward_hook(&f->net.head, TINY, &a.hook, 0), MODC_OK);
    assert_int_equal(modc_register_forward_hook(&f->net.head, TINY, &a.hook, 0), MODC_ARGUMENT);
    modc_hook_remove(&a.hook);
    for (int i = 0; i <= MODC_MAX_HOOKS; i++) {
        many[i] = tracer("");
        many[i].hook.user = &many[i];
        assert_int_equal(modc_register_forward_hook(&f->net.head, TINY, &many[i].hook, 0),
                         i < MODC_MAX_HOOKS ? MODC_OK : MODC_MEMORY);
    }
    f->net.head.hooks = NULL;
    bare.entry_count = 0;
    f->net.head.model = &bare;
    assert_int_equal(modc_register_forward_hook(&f->net.head, TINY, &a.hook, 0), MODC_UNSUPPORTED);
}

static void test_hook_changes_in_a_call(void **state)
{
    struct fixture *f = *state;
    struct tracer a = tracer("a"), b = tracer("b"), c = tracer("c"), d = tracer("d"), e = tracer("e");

    /* Removed by an earlier hook of the step: still runs in this call. Added: runs from the next on. */
    post(f, TINY_BLOCKS_0, &a, 0);
    post(f, TINY_BLOCKS_0, &b, 0);
    a.remove = &b;
    a.add = &c;
    a.add_module = TINY_BLOCKS_0;
    c.hook.user = &c;
    call(f, MODC_OK, "ablocks.0 bblocks.0 ");
    call(f, MODC_OK, "ablocks.0 cblocks.0 ");
    modc_hook_remove(&a.hook);
    modc_hook_remove(&c.hook);

    /* A forward hook added by a pre-hook runs in the same call. */
    pre(f, TINY_BLOCKS_1, &d, 0);
    d.add = &e;
    d.add_module = TINY_BLOCKS_1;
    e.hook.user = &e;
    e.remove = &e;
    call(f, MODC_OK, "dblocks.1- eblocks.1 ");
    call(f, MODC_OK, "dblocks.1- ");
}

static void test_hook_values(void **state)
{
    struct fixture *f = *state;
    struct tracer a = tracer("a"), b = tracer("b"), c = tracer("c");
    float first[2] = {10, 20}, second[2] = {-1, -2}, third[2] = {8, 9};

    pre(f, TINY_BLOCKS_0, &a, 0);
    a.replace = first;
    assert_true(call(f, MODC_OK, "ablocks.0- ") == 41.0f);
    post(f, TINY_BLOCKS_0, &b, 0);
    b.replace = second;
    assert_true(call(f, MODC_OK, "ablocks.0- bblocks.0 ") == -1.0f);
    post(f, TINY, &c, 0);
    c.replace = third;
    assert_true(call(f, MODC_OK, "ablocks.0- bblocks.0 c ") == 9.0f);
    b.ndim = 1;
    call(f, MODC_HOOK_SHAPE, "ablocks.0- bblocks.0 ");
    assert_int_equal(f->net.head.fault_module, TINY_BLOCKS_0);
    b.ndim = 0;
    b.status = MODC_HOOK_ERROR;
    call(f, MODC_HOOK_ERROR, "ablocks.0- bblocks.0 ");
    assert_int_equal(f->net.head.fault_module, TINY_BLOCKS_0);
    b.status = MODC_OK;
    a.ndim = 3;
    call(f, MODC_HOOK_SHAPE, "ablocks.0- ");
    a.ndim = 0;
    call(f, MODC_OK, "ablocks.0- bblocks.0 c ");
    assert_int_equal(f->net.head.fault_module, -1);
}

static void test_always_call(void **state)
{
    struct fixture *f = *state;
    struct tracer a = tracer("a"), b = tracer("b"), c = tracer("c"), d = tracer("d"), n = tracer("n"),
                  p = tracer("p");

    post(f, TINY_BLOCKS_1, &a, MODC_ALWAYS_CALL);
    post(f, TINY_BLOCKS_1, &n, 0);
    post(f, TINY, &b, MODC_ALWAYS_CALL);
    post(f, TINY_BLOCKS_1, &c, MODC_ALWAYS_CALL);
    call(f, MODC_OK, "ablocks.1 nblocks.1 cblocks.1 b ");

    /* The body fails: inner first, without a result; a hook's own error is dropped. */
    fail_inside = MODC_INDEX;
    a.status = MODC_HOOK_ERROR;
    call(f, MODC_INDEX, "ablocks.1- cblocks.1- b- ");
    fail_inside = MODC_OK;

    /* A forward hook fails: those called before it, and it itself, do not run again. */
    a.status = MODC_OK;
    n.status = MODC_HOOK_ERROR;
    call(f, MODC_HOOK_ERROR, "ablocks.1 nblocks.1 cblocks.1 b- ");
    n.status = MODC_OK;
    a.status = MODC_HOOK_ERROR;
    call(f, MODC_HOOK_ERROR, "ablocks.1 cblocks.1 b- ");
    a.status = MODC_OK;

    /* A pre-hook fails. */
    pre(f, TINY_BLOCKS_1, &p, 0);
    p.status = MODC_HOOK_ERROR;
    call(f, MODC_HOOK_ERROR, "pblocks.1- ablocks.1- cblocks.1- b- ");
    p.status = MODC_OK;

    /* Global ones first. */
    struct modc_hook_set set = {NULL};

    d.hook.user = &d;
    assert_int_equal(modc_register_module_forward_hook(&set, &d.hook, MODC_ALWAYS_CALL), MODC_OK);
    modc_attach(&f->net.head, &set);
    fail_inside = MODC_INDEX;
    call(f, MODC_INDEX, "dblocks.0 pblocks.1- dblocks.1- ablocks.1- cblocks.1- d- b- ");
}

static void test_context(void **state)
{
    struct fixture *f = *state;
    struct modc_context *net = &f->net.head;
    struct tiny_params other = {{0}, {0}};

    assert_int_equal(*(int64_t *)(void *)f->workspace, 7);
    *(int64_t *)(void *)f->workspace = 9;
    modc_reset_state(net);
    assert_int_equal(*(int64_t *)(void *)f->workspace, 7);
    assert_false(net->training);
    modc_train(net, true);
    assert_true(net->training);
    net->counter = 5;
    modc_seed(net, 11);
    assert_true(net->seed == 11 && net->counter == 0);
    assert_int_equal(modc_init(net, &tiny_model, &f->params.head, f->workspace + 8, 64), MODC_ALIGNMENT);
    assert_int_equal(modc_init(net, &tiny_model, &f->params.head, f->workspace, 63), MODC_WORKSPACE);
    assert_int_equal(modc_init(net, &tiny_model, &other.head, f->workspace, 64), MODC_POINTER);
    assert_int_equal(modc_init(net, &tiny_model, &f->params.head, NULL, 0), MODC_WORKSPACE);
    assert_string_equal(modc_status_text(MODC_STALE),
                        "parameters are not packed, changed since, or others were packed over them");
    assert_string_equal(modc_status_text((enum modc_status)99), "unknown status");
}

/* ---- host ---------------------------------------------------------------------------------------------- */

/* Whether Linux was told that this memory may lie in huge pages: flag hg of its mapping. -1: it does not say. */
static int asks_for_huge_pages(const void *block)
{
    FILE *maps = fopen("/proc/self/smaps", "r");
    unsigned long from, to;
    bool inside = false;
    int asks = -1;
    char line[512];

    while (maps && asks < 0 && fgets(line, sizeof line, maps)) {
        if (sscanf(line, "%lx-%lx ", &from, &to) == 2)
            inside = (uintptr_t)block >= from && (uintptr_t)block < to;
        else if (inside && strncmp(line, "VmFlags:", 8) == 0)
            asks = strstr(line, " hg") != NULL;
    }
    if (maps)
        fclose(maps);
    return access("/sys/kernel/mm/transparent_hugepage", R_OK) == 0 ? asks : -1;
}

static void test_large_blocks(void **state)
{
    struct fixture *f = *state;
    struct modc_context *net;

    assert_int_equal(modc_create(&tiny_model, &f->params.head, 5 << 20, &net), MODC_OK);
    assert_int_equal((uintptr_t)net % (2 << 20), 0);
    assert_int_not_equal(asks_for_huge_pages(net), 0);
    modc_destroy(net);
    assert_int_equal(modc_create(&tiny_model, &f->params.head, 4096, &net), MODC_OK);
    assert_int_not_equal(asks_for_huge_pages(net), 1);
    modc_destroy(net);
}

static void test_host(void **state)
{
    struct fixture *f = *state;
    struct modc_params *params;
    struct modc_context *net;
    char path[] = "test_runtime_XXXXXX";
    int file = mkstemp(path);

    assert_true(file >= 0);
    assert_int_equal(modc_params_create(&tiny_model, &params), MODC_OK);
    assert_int_equal(modc_reset(params, 3), MODC_OK);
    assert_int_equal(modc_save(params, path), MODC_OK);
    assert_int_equal(modc_load(&f->params.head, path, MODC_STRICT, &f->report), MODC_OK);
    assert_memory_equal(((struct tiny_params *)params)->tensors[B2_WEIGHT], f->params.tensors[B2_WEIGHT], 16);
    assert_int_equal(modc_load(&f->params.head, path, MODC_ASSIGN, &f->report), MODC_ARGUMENT);
    assert_int_equal(modc_load(&f->params.head, "no/such/file", MODC_STRICT, &f->report), MODC_FILE);
    assert_int_equal(modc_save(params, "no/such/file"), MODC_FILE);
    assert_int_equal(modc_write_file(path, "", 0), MODC_OK);
    assert_int_equal(modc_load(&f->params.head, path, MODC_STRICT, &f->report), MODC_FORMAT);
    assert_report(&f->report, "Error while deserializing header: header too small");
    assert_int_equal(modc_workspace(&tiny_model), 128);
    assert_int_equal(modc_create(&tiny_model, params, 0, &net), MODC_OK);
    assert_true(net->workspace_bytes == 128 && (uintptr_t)net->workspace % 64 == 0);
    modc_destroy(net);
    assert_int_equal(modc_create(&tiny_model, params, 8, &net), MODC_WORKSPACE);
    modc_params_destroy(params);
    remove(path);
}

/* A folder of its own, whose path stands in front of every name; and another one in front of another. */
static const char *in_folder(const char *name)
{
    static char folder[32], paths[4][64];
    static int next;

    if (folder[0] == '\0') {
        snprintf(folder, sizeof folder, "test_runtime_XXXXXX");
        assert_non_null(mkdtemp(folder));
    }
    next = (next + 1) % 4;
    snprintf(paths[next], sizeof paths[next], "%s%s%s", folder, name[0] != '\0' ? "/" : "", name);
    return paths[next];
}

/* ---- files of many keys ------------------------------------------------------------------------------- */

#if defined __has_feature
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined SANITIZED || defined __SANITIZE_ADDRESS__
enum { LAYERS = 2000 }; /* the times are those of the other build */
#else
enum { LAYERS = 10000 };
#endif
enum { MANY_KEYS = 2 * LAYERS };

/* A list of Linears of one weight and one bias each. */
struct many {
    struct modc_model model;
    struct modc_module modules[LAYERS + 2];
    struct modc_key keys[MANY_KEYS];
    char names[MANY_KEYS][24], paths[LAYERS][16];
};

static struct many *make_many(void)
{
    struct many *many = calloc(1, sizeof *many);

    assert_non_null(many);
    many->modules[0] = (struct modc_module){"", "", "Net", "", -1, LAYERS + 1, false};
    many->modules[1] = (struct modc_module){"layers", "layers", "ModuleList", "", 0, LAYERS, true};
    for (int i = 0; i < LAYERS; i++) {
        snprintf(many->paths[i], sizeof many->paths[i], "layers.%d", i);
        many->modules[i + 2] = (struct modc_module){many->paths[i], many->paths[i] + 7, "Linear", "", 1, 0,
                                                    false};
        for (int k = 2 * i; k < 2 * i + 2; k++) {
            snprintf(many->names[k], sizeof many->names[k], "layers.%d.%s", i,
                     k % 2 == 0 ? "weight" : "bias");
            many->keys[k] = (struct modc_key)MODC_PARAMETER(many->names[k], i + 2, FLOAT32, CONSTANT(0.0), 1,
                                                            {1});
        }
    }
    many->model = (struct modc_model){.name = "many",
                                      .align = 64,
                                      .tensor_align = 4,
                                      .params_bytes = sizeof(struct modc_params) + MANY_KEYS * sizeof(void *),
                                      .param_block = 4 * MANY_KEYS,
                                      .key_count = MANY_KEYS,
                                      .module_count = LAYERS + 2,
                                      .keys = many->keys,
                                      .modules = many->modules};
    return many;
}

/* A file of the keys in this order, key i of the file with the number i; those from `twice` on stand there once more before. */
static char *make_many_file(const struct many *many, const int *order, int count, int twice, const char *more,
                            size_t *length)
{
    char *header = malloc(96 * (size_t)(2 * count)), *bytes;
    size_t used = 1;

    strcpy(header, "{");
    for (int i = twice; i < count; i++)
        used += (size_t)sprintf(header + used, F32("%s%s", "1", "0", "4") ",", many->names[order[i]], more);
    for (int i = 0; i < count; i++)
        used += (size_t)sprintf(header + used, "%s" F32("%s%s", "1", "%d", "%d"), i > 0 ? "," : "",
                                many->names[order[i]], more, 4 * i, 4 * i + 4);
    strcpy(header + used, "}");
    bytes = make_file(header, 4 * (size_t)count, length);
    free(header);
    for (int i = 0; i < count; i++) {
        float number = (float)i;

        memcpy(bytes + *length - 4 * (size_t)(count - i), &number, sizeof number);
    }
    return bytes;
}

/* Of keys of make_many, by their names. */
static int compare_names(const void *a, const void *b)
{
    char names[2][32];

    for (int i = 0; i < 2; i++) {
        const int key = *(const int *)(i == 0 ? a : b);

        snprintf(names[i], sizeof names[i], "layers.%d.%s", key / 2, key % 2 == 0 ? "weight" : "bias");
    }
    return strcmp(names[0], names[1]);
}

/* Orders: as the model has them, and one in which no name says where the next one stands. What takes n squared steps for n keys
 * takes minutes here. */
static void test_many_keys(void **state)
{
    struct fixture *f = *state;
    struct many *many = make_many();
    int *order = malloc(MANY_KEYS * sizeof *order);
    struct modc_params *params;
    size_t length;

    assert_int_equal(modc_params_create(&many->model, &params), MODC_OK);
    alarm(60);
    for (int step = 1; step < MANY_KEYS / 2; step += MANY_KEYS * 3 / 8 + 276) {
        const char *path = in_folder("keys");
        char *bytes;

        for (int i = 0; i < MANY_KEYS; i++)
            order[i] = (int)((int64_t)i * step % MANY_KEYS);
        for (int twice = 0; twice <= MANY_KEYS; twice += MANY_KEYS) {
            bytes = make_many_file(many, order, MANY_KEYS, twice, "", &length);
            assert_int_equal(modc_write_file(path, bytes, length), MODC_OK);
            assert_int_equal(modc_reset(params, 0), MODC_OK);
            assert_int_equal(modc_load(params, path, MODC_STRICT, &f->report), MODC_OK);
            for (int i = 0; i < MANY_KEYS; i += 997) {
                struct modc_tensor tensor;

                assert_int_equal(modc_get_tensor(params, order[i], &tensor), MODC_OK);
                assert_true(*(float *)tensor.data == (float)i);
            }
            free(bytes);

            bytes = make_many_file(many, order, MANY_KEYS, twice, "_", &length);
            assert_int_equal(modc_write_file(path, bytes, length), MODC_OK);
            assert_int_equal(modc_load(params, path, MODC_STRICT, &f->report), MODC_KEYS);
            assert_true(f->report.missing_count == MANY_KEYS && f->report.unexpected_count == MANY_KEYS);
            assert_int_equal(modc_load(&f->params.head, path, MODC_STRICT, &f->report), MODC_KEYS);
            assert_true(f->report.unexpected_count == MANY_KEYS && f->report.unexpected_held > 300);
            free(bytes);
        }
    }
    /* As files are written, without memory for an index. */
    qsort(order, MANY_KEYS, sizeof *order, compare_names);
    char *bytes = make_many_file(many, order, MANY_KEYS, MANY_KEYS, "", &length);

    assert_int_equal(modc_load_bytes(params, bytes, length, MODC_STRICT, &f->report), MODC_OK);
    free(bytes);
    alarm(0);
    assert_int_equal(remove(in_folder("keys")), 0);
    modc_params_destroy(params);
    free(order);
    free(many);
}

static void assert_content(const char *path, const char *expected)
{
    char found[64] = "";
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    found[fread(found, 1, sizeof found - 1, file)] = '\0';
    fclose(file);
    assert_string_equal(found, expected);
}

static mode_t mode_of(const char *path)
{
    struct stat info;

    assert_int_equal(lstat(path, &info), 0);
    return info.st_mode;
}

/* How many names a folder has. */
static int count_names(const char *path)
{
    DIR *folder = opendir(path);
    int count = -2; /* itself and the one above */

    assert_non_null(folder);
    while (readdir(folder) != NULL)
        count++;
    closedir(folder);
    return count;
}

static enum modc_status write_text(const char *path, const char *text)
{
    return modc_write_file(path, text, strlen(text));
}

static void test_modes(void **state)
{
    (void)state;
    const mode_t mask = umask(027);

    assert_int_equal(write_text(in_folder("new"), "1"), MODC_OK);
    assert_int_equal(mode_of(in_folder("new")) & 07777, 0640);
    for (int i = 0; i < 3; i++) {
        static const mode_t modes[] = {0600, 0664, 0444};

        assert_int_equal(chmod(in_folder("new"), modes[i]), 0);
        assert_int_equal(write_text(in_folder("new"), "22"), MODC_OK);
        assert_int_equal(mode_of(in_folder("new")) & 07777, modes[i]);
        assert_content(in_folder("new"), "22");
    }
    assert_int_equal(umask(mask), 027);
    assert_int_equal(count_names(in_folder("")), 1);
    assert_int_equal(remove(in_folder("new")), 0);
}

/* To a file, through another link, into another folder, and to nothing; then in a circle. */
static void test_links(void **state)
{
    (void)state;
    assert_int_equal(mkdir(in_folder("deep"), 0777), 0);
    assert_int_equal(write_text(in_folder("deep/file"), "old"), MODC_OK);
    assert_int_equal(symlink("deep/file", in_folder("link")), 0);
    assert_int_equal(symlink("../link", in_folder("deep/second")), 0);
    assert_int_equal(symlink("deep/none", in_folder("dangling")), 0);
    assert_int_equal(write_text(in_folder("deep/second"), "new"), MODC_OK);
    assert_content(in_folder("deep/file"), "new");
    assert_int_equal(write_text(in_folder("dangling"), "there"), MODC_OK);
    assert_content(in_folder("deep/none"), "there");
    assert_true(S_ISLNK(mode_of(in_folder("link"))) && S_ISLNK(mode_of(in_folder("deep/second"))) &&
                S_ISLNK(mode_of(in_folder("dangling"))) && S_ISREG(mode_of(in_folder("deep/file"))));
    assert_int_equal(symlink("circle", in_folder("circle")), 0);
    assert_int_equal(write_text(in_folder("circle"), "new"), MODC_FILE);
    assert_true(errno == ELOOP && S_ISLNK(mode_of(in_folder("circle"))));
    assert_int_equal(count_names(in_folder("")), 4);
    assert_int_equal(count_names(in_folder("deep")), 3);
    static const char *const names[] = {"deep/file", "deep/second", "deep/none", "deep",
                                        "link",      "dangling",    "circle"};

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        assert_int_equal(remove(in_folder(names[i])), 0);
}

static const char *const texts[] = {"a", "a much longer text than the other one"};

static void *save_often(void *path)
{
    for (int i = 0; i < 30; i++)
        if (write_text(path, texts[i % 2]) != MODC_OK)
            return path;
    return NULL;
}

/* Whole files, each of one of them, and nothing is left beside. */
static void test_saves_at_once(void **state)
{
    pthread_t threads[4];
    const void *bytes;
    size_t length;
    char path[64];

    (void)state;
    snprintf(path, sizeof path, "%s", in_folder("file"));
    assert_int_equal(write_text(path, "a"), MODC_OK);
    for (int i = 0; i < 4; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, save_often, path), 0);
    for (int i = 0; i < 30; i++) {
        assert_int_equal(modc_map(path, &bytes, &length), MODC_OK);
        const char *whole = texts[length != 1];

        assert_true(length == strlen(whole) && memcmp(bytes, whole, length) == 0);
        modc_unmap(bytes, length);
    }
    for (int i = 0; i < 4; i++) {
        void *failed;

        pthread_join(threads[i], &failed);
        assert_null(failed);
    }
    assert_int_equal(count_names(in_folder("")), 1);
    assert_int_equal(remove(path), 0);
}

/* What has no size is no file: it is said at once. */
static void test_no_files(void **state)
{
    struct fixture *f = *state;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int bound = socket(AF_UNIX, SOCK_STREAM, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", in_folder("socket"));
    assert_true(bound >= 0 && bind(bound, (struct sockaddr *)&address, sizeof address) == 0);
    assert_int_equal(mkfifo(in_folder("pipe"), 0666), 0);

    const char *const paths[] = {in_folder("pipe"), in_folder("socket"), in_folder(""), "/dev/zero"};

    alarm(20);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        errno = 0;
        assert_int_equal(modc_load(&f->params.head, paths[i], MODC_STRICT, &f->report), MODC_FILE);
        assert_int_equal(errno, EINVAL);
        assert_report(&f->report, "a file cannot be read or written");
    }
    alarm(0);
    assert_int_equal(write_text("/dev/null", "text"), MODC_OK);
    assert_int_equal(write_text(in_folder(""), "text"), MODC_FILE);
    assert_int_equal(write_text(in_folder("socket"), "text"), MODC_FILE);
    close(bound);
    assert_int_equal(remove(in_folder("pipe")), 0);
    assert_int_equal(remove(in_folder("socket")), 0);
    assert_int_equal(remove(in_folder("")), 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_writer),
        TEST(test_complex),
        TEST(test_many),
        TEST(test_reader_faults),
        TEST(test_deep_header),
        TEST(test_convert),
        TEST(test_bind),
        TEST(test_save_load),
        TEST(test_cut_files),
        TEST(test_strict),
        TEST(test_ties_and_types),
        TEST(test_integers),
        TEST(test_integer_faults),
        TEST(test_to),
        TEST(test_to_halves),
        TEST(test_assign),
        TEST(test_pack),
        TEST(test_state_hooks),
        TEST(test_reset),
        TEST(test_reset_model),
        TEST(test_names),
        TEST(test_print),
        TEST(test_hook_order),
        TEST(test_hook_registration),
        TEST(test_hook_changes_in_a_call),
        TEST(test_hook_values),
        TEST(test_always_call),
        TEST(test_context),
        TEST(test_large_blocks),
        TEST(test_host),
        TEST(test_many_keys),
        TEST(test_modes),
        TEST(test_links),
        TEST(test_saves_at_once),
        TEST(test_no_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
