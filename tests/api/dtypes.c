/* dtypes.c - a model in two types in one program: each against PyTorch, and their parameters converted both ways. */
#include "check.h"
#include "pair.h"
#include "pair_float64.h"
#include "tied.h"

#include <math.h>
#include <string.h>

enum { BATCH = 5, WIDTH = 12, ROOM = 1 << 16 };

/* Of PyTorch: float64 weights, and what either type makes of them. */
#define FOLDER "build/vectors/dtypes_5"
static const char weights_file[] = FOLDER "/weights.safetensors",
                  inputs_file[] = FOLDER "/inputs.safetensors";
static const char narrow_state[] = FOLDER "/state.safetensors",
                  narrow_expect[] = FOLDER "/expect.safetensors";
static const char wide_state[] = FOLDER "_double/state.safetensors",
                  wide_expect[] = FOLDER "_double/expect.safetensors";

static MODC_ALIGNED char narrow_block[PAIR_PARAM_BYTES], narrow_packed[PAIR_PACKED_BYTES];
static MODC_ALIGNED char wide_block[PAIR_FLOAT64_PARAM_BYTES], wide_packed[PAIR_FLOAT64_PACKED_BYTES];
static MODC_ALIGNED char workspace[PAIR_FLOAT64_WORKSPACE_BYTES], tied_block[TIED_PARAM_BYTES];
static struct pair_params narrow;
static struct pair_float64_params wide;

struct file {
    const void *bytes;
    size_t length;
    struct modc_reader reader;
};

static struct file open_file(const char *path)
{
    struct file file;

    CHECK_OK(modc_map(path, &file.bytes, &file.length));
    CHECK_OK(modc_reader_open(&file.reader, file.bytes, file.length, NULL));
    return file;
}

static struct modc_item find(const struct file *file, const char *name)
{
    struct modc_item item;

    CHECK(modc_reader_find(&file->reader, name, &item));
    return item;
}

static void close_file(struct file *file)
{
    modc_unmap(file->bytes, file->length);
}

/* Saved, the parameters have the bytes of every tensor of the file. */
static void same_as(const struct modc_params *params, const char *path)
{
    static MODC_ALIGNED char saved[ROOM];
    struct file file = open_file(path);
    struct modc_reader own;
    struct modc_item item, other;
    size_t length;

    CHECK_OK(modc_save_bytes(params, saved, sizeof saved, &length));
    CHECK_OK(modc_reader_open(&own, saved, length, NULL));
    CHECK(own.count == file.reader.count && own.count > 0);
    for (size_t at = 0; modc_reader_next(&file.reader, &at, &item);) {
        char name[64];

        modc_item_name(&item, name, sizeof name);
        CHECK(modc_reader_find(&own, name, &other));
        CHECK(other.dtype == item.dtype && other.bytes == item.bytes);
        CHECK(memcmp(other.data, item.data, item.bytes) == 0);
    }
    close_file(&file);
}

static void close_to(const struct file *expected, const char *name, const void *found, enum modc_dtype dtype,
                     size_t count, double tolerance)
{
    struct modc_item item = find(expected, name);
    size_t bytes = modc_dtype_bytes(dtype);
    double largest = 0;

    CHECK(item.dtype == (int)dtype && item.bytes == count * bytes);
    for (size_t i = 0; i < count; i++)
        largest = fmax(largest, fabs(modc_number((const char *)item.data + i * bytes, dtype)));
    for (size_t i = 0; i < count; i++)
        CHECK(fabs(modc_number((const char *)item.data + i * bytes, dtype) -
                   modc_number((const char *)found + i * bytes, dtype)) <= tolerance * largest);
}

static void narrow_gives_pytorchs_numbers(struct pair_params *params)
{
    struct file inputs = open_file(inputs_file), expect = open_file(narrow_expect);
    struct pair net;
    float output[BATCH * WIDTH];
    double sums[BATCH];
    bool hits[BATCH];

    CHECK_OK(pair_init(&net, params, workspace, sizeof workspace));
    CHECK_OK(pair_forward(&net, BATCH, find(&inputs, "image").data, find(&inputs, "weight").data,
                          find(&inputs, "label").data, output, sums, hits));
    close_to(&expect, "h", output, MODC_FLOAT32, BATCH * WIDTH, 1e-5);
    close_to(&expect, "output_1", sums, MODC_FLOAT64, BATCH, 1e-5);
    close_to(&expect, "output_2", hits, MODC_BOOL, BATCH, 0);
    close_file(&inputs);
    close_file(&expect);
}

static void wide_gives_pytorchs_numbers(struct pair_float64_params *params, double tolerance)
{
    struct file inputs = open_file(inputs_file), expect = open_file(wide_expect);
    const float *image = find(&inputs, "image").data;
    struct pair_float64 net;
    double wide_image[BATCH * 2 * 3 * 3], output[BATCH * WIDTH], sums[BATCH];
    bool hits[BATCH];

    for (size_t i = 0; i < sizeof wide_image / sizeof *wide_image; i++)
        wide_image[i] = (double)image[i];
    CHECK_OK(pair_float64_init(&net, params, workspace, sizeof workspace));
    CHECK_OK(pair_float64_forward(&net, BATCH, wide_image, find(&inputs, "weight").data,
                                  find(&inputs, "label").data, output, sums, hits));
    close_to(&expect, "h", output, MODC_FLOAT64, BATCH * WIDTH, tolerance);
    close_to(&expect, "output_1", sums, MODC_FLOAT64, BATCH, tolerance);
    close_file(&inputs);
    close_file(&expect);
}

static void narrowed_and_widened(void)
{
    struct pair_float64_params again;
    static MODC_ALIGNED char again_block[PAIR_FLOAT64_PARAM_BYTES];
    uint64_t version;

    CHECK_OK(pair_bind(&narrow, narrow_block, sizeof narrow_block));
    CHECK_OK(pair_float64_bind(&wide, wide_block, sizeof wide_block));
    CHECK_OK(pair_float64_load(&wide, weights_file, MODC_STRICT, NULL));
    same_as(&wide.base, wide_state);
    CHECK_OK(pair_float64_pack(&wide, wide_packed, sizeof wide_packed));
    wide_gives_pytorchs_numbers(&wide, 1e-12);

    /* what PyTorch's load_state_dict makes of the same file */
    version = narrow.base.version;
    CHECK_OK(pair_float64_to(&wide, &narrow.base));
    CHECK(narrow.base.version == version + 1);
    same_as(&narrow.base, narrow_state);
    CHECK(narrow.last.weight == narrow.head.weight);
    CHECK_OK(pair_pack(&narrow, narrow_packed, sizeof narrow_packed));
    narrow_gives_pytorchs_numbers(&narrow);

    /* back: every float32 is a float64; the tensors that have one type in both are as they were */
    CHECK_OK(pair_to(&narrow, &wide.base));
    for (int i = 0; i < 18 * WIDTH; i++)
        CHECK(wide.stem._2.weight[i] == (double)narrow.stem._2.weight[i]);
    CHECK(*wide.stem._0.num_batches_tracked == 7 && wide.offset[11] == narrow.offset[11]);
    CHECK(memcmp(wide.exact, narrow.exact, WIDTH * sizeof *wide.exact) == 0);
    CHECK_OK(pair_float64_pack(&wide, NULL, 0));
    wide_gives_pytorchs_numbers(&wide, 1e-5);

    /* between two of one model, and into itself */
    CHECK_OK(pair_float64_bind(&again, again_block, sizeof again_block));
    CHECK_OK(pair_float64_to(&wide, &again.base));
    CHECK(memcmp(again.blocks[1].fc.weight, wide.blocks[1].fc.weight, WIDTH * WIDTH * sizeof(double)) == 0);
    CHECK_OK(pair_float64_to(&again, &again.base));
    CHECK(memcmp(again.blocks[1].fc.weight, wide.blocks[1].fc.weight, WIDTH * WIDTH * sizeof(double)) == 0);
}

static void embedded_in_both(void)
{
    struct pair_params small;
    struct pair_float64_params large;
    struct pair_params copy;
    static MODC_ALIGNED char copy_block[PAIR_PARAM_BYTES];

    CHECK_OK(pair_bind_embedded(&small));
    CHECK_OK(pair_float64_bind_embedded(&large));
    same_as(&small.base, narrow_state);
    same_as(&large.base, wide_state);
    narrow_gives_pytorchs_numbers(&small);
    wide_gives_pytorchs_numbers(&large, 1e-12);

    /* tensors that lie only packed are unpacked, but not on the way into another type */
    CHECK(!small.head.weight);
    CHECK_OK(pair_bind(&copy, copy_block, sizeof copy_block));
    CHECK_OK(pair_to(&small, &copy.base));
    same_as(&copy.base, narrow_state);
    CHECK(pair_float64_to(&large, &copy.base) == MODC_POINTER);
    same_as(&copy.base, narrow_state);
    CHECK(pair_to(&copy, &small.base) == MODC_READ_ONLY);
}

static void refused(void)
{
    struct pair_params unbound = {0};
    struct tied_params other;
    char before[sizeof narrow_block];

    memcpy(before, narrow_block, sizeof before);
    CHECK_OK(tied_bind(&other, tied_block, sizeof tied_block));
    CHECK(pair_to(&unbound, &narrow.base) == MODC_POINTER);
    CHECK(pair_to(&narrow, &unbound.base) == MODC_POINTER);
    CHECK(pair_to(&narrow, NULL) == MODC_POINTER);
    CHECK(modc_to(NULL, &narrow.base) == MODC_POINTER);
    CHECK(tied_to(&other, &narrow.base) == MODC_ARGUMENT);
    CHECK(pair_to(&narrow, &other.base) == MODC_ARGUMENT);
    CHECK(memcmp(before, narrow_block, sizeof before) == 0);
}

int main(void)
{
    narrowed_and_widened();
    refused();
    embedded_in_both();
    return 0;
}
