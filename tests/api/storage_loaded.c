/* storage_loaded.c - a file of weights as integers that is loaded when the program runs: packed are the file's own integers and scales, as
 * they are where modc embeds them, whatever became of them on the way. NARROW: what `modc quantize` made of the first spec. */
#include <string.h>

#include "check.h"
#include "inside.h"
#include "loaded.h"
#include "modc_safetensors.h"
#include "storage_plain.h"

enum { FILE_BYTES = 1 << 17, OWNER = MODC_ALIGN };

static MODC_ALIGNED char narrow[FILE_BYTES], saved[FILE_BYTES], blocks[2][LOADED_PARAM_BYTES];
static MODC_ALIGNED char packed[2][LOADED_PACKED_BYTES];
static MODC_ALIGNED struct modc_report report;
static size_t narrow_length, saved_length;

static void read_narrow(void)
{
    FILE *opened = fopen(NARROW, "rb");

    CHECK(opened != NULL);
    narrow_length = fread(narrow, 1, sizeof narrow, opened);
    CHECK(narrow_length < sizeof narrow && fclose(opened) == 0);
}

static void start(struct loaded_params *params, int index)
{
    memset(blocks[index], 0, sizeof blocks[index]);
    CHECK_OK(loaded_bind(params, blocks[index], sizeof blocks[index]));
}

static void pack(struct loaded_params *params, int index)
{
    memset(packed[index], 0, sizeof packed[index]);
    CHECK_OK(loaded_pack(params, packed[index], sizeof packed[index]));
}

static bool same_packed(const void *other, int index)
{
    return memcmp(packed[index], other, LOADED_PACKED_BYTES - OWNER) == 0;
}

/* Whether the file has the tensor in this type. */
static bool has(const char *bytes, size_t length, const char *name, enum modc_dtype dtype)
{
    struct modc_reader reader;
    struct modc_item item;

    CHECK_OK(modc_reader_open(&reader, bytes, length, NULL));
    return modc_reader_find(&reader, name, &item) && item.dtype == (int)dtype;
}

static void check_refused(struct loaded_params *params, const char *from, const char *to)
{
    static char before[LOADED_PARAM_BYTES];
    const size_t length = strlen(from);
    char *at = saved;

    CHECK(length == strlen(to));
    memcpy(saved, narrow, narrow_length);
    while (memcmp(at, from, length) != 0)
        CHECK(++at < saved + narrow_length - length);
    memcpy(at, to, length);
    memcpy(before, blocks[0], sizeof before);
    CHECK(loaded_load_bytes(params, saved, narrow_length, MODC_STRICT, &report) == MODC_KEYS);
    CHECK(report.fault_count > 0 && report.faults[0].kind == MODC_FAULT_INTEGERS);
    CHECK(memcmp(before, blocks[0], sizeof before) == 0);
    pack(params, 0);
}

int main(void)
{
    static struct loaded_params params, other;
    static struct inside_params inside;
    static struct storage_plain_params plain;
    static MODC_ALIGNED char plain_block[STORAGE_PLAIN_PARAM_BYTES];
    float *weight;

    read_narrow();
    CHECK_OK(inside_bind_embedded(&inside));
    CHECK(INSIDE_PACKED_BYTES == LOADED_PACKED_BYTES);

    /* packed is what the file has, not what its numbers would be rounded to */
    start(&params, 0);
    CHECK_OK(loaded_load_bytes(&params, narrow, narrow_length, MODC_STRICT, &report));
    CHECK(report.missing_count == 0 && report.unexpected_count == 0);
    pack(&params, 0);
    CHECK(same_packed(inside.base.packed, 0));
    loaded_changed(&params); /* of a bias, say */
    pack(&params, 0);
    CHECK(same_packed(inside.base.packed, 0));
    CHECK(memcmp(params.one, inside.one, sizeof(float[53 * 48])) == 0);
    params.base.block = NULL; /* nobody knows the scales */
    pack(&params, 1);
    CHECK(!same_packed(inside.base.packed, 1));
    params.base.block = blocks[0];

    /* saved, loaded, and packed again */
    CHECK_OK(loaded_save_bytes(&params, saved, sizeof saved, &saved_length));
    CHECK(has(saved, saved_length, "one", MODC_INT8) && has(saved, saved_length, "one_scale", MODC_FLOAT16) &&
          has(saved, saved_length, "odd.weight", MODC_UINT8) &&
          has(saved, saved_length, "few.weight_scale", MODC_BFLOAT16) &&
          has(saved, saved_length, "wide.weight", MODC_FLOAT32));
    start(&other, 1);
    CHECK_OK(loaded_load_bytes(&other, saved, saved_length, MODC_STRICT, &report));
    CHECK(memcmp(blocks[1], blocks[0], sizeof blocks[0]) == 0);
    pack(&other, 1);
    CHECK(same_packed(packed[0], 1));

    /* from model to model */
    start(&other, 1);
    CHECK_OK(loaded_to(&params, &other.base));
    pack(&other, 1);
    CHECK(same_packed(packed[0], 1));

    /* what is written is rounded anew, in its own rows and groups alone, and saved as floats */
    weight = (float *)(void *)(blocks[1] + ((const char *)other.few.weight - blocks[1]));
    weight[53 + 9] += 0.011f; /* of the group from 8 to 15 of row 1 */
    loaded_changed(&other);
    pack(&other, 1);
    CHECK(!same_packed(packed[0], 1));
    {
        size_t changed = 0, integers = 0;

        for (size_t i = 0; i < LOADED_PACKED_BYTES - OWNER; i++)
            changed += packed[0][i] != packed[1][i];
        integers = 8 + sizeof(uint16_t); /* of a group, and its scale */
        CHECK(changed > 0 && changed <= integers);
    }
    CHECK_OK(loaded_save_bytes(&other, saved, sizeof saved, &saved_length));
    CHECK(has(saved, saved_length, "few.weight", MODC_FLOAT32) &&
          !has(saved, saved_length, "few.weight_scale", MODC_BFLOAT16) &&
          has(saved, saved_length, "one", MODC_INT8));
    CHECK_OK(loaded_load_bytes(&params, saved, saved_length, MODC_STRICT, &report));
    pack(&params, 0); /* one loaded over the other: its own scales are gone, those of the rest are kept */
    CHECK(!same_packed(packed[1], 0));
    CHECK_OK(loaded_load_bytes(&params, narrow, narrow_length, MODC_STRICT, &report));
    pack(&params, 0);
    CHECK(same_packed(inside.base.packed, 0));

    /* a draw has no scales, whatever was there before */
    CHECK_OK(loaded_reset(&params, 19));
    pack(&params, 0);
    start(&other, 1);
    CHECK_OK(loaded_reset(&other, 19));
    pack(&other, 1);
    CHECK(same_packed(packed[0], 1));
    CHECK(same_packed(inside.base.packed, 1)); /* of which the file was made: to the nearest is where it is */

    /* a model that packs none takes the numbers */
    CHECK_OK(storage_plain_bind(&plain, plain_block, sizeof plain_block));
    CHECK_OK(storage_plain_load_bytes(&plain, narrow, narrow_length, MODC_STRICT, &report));
    CHECK(memcmp(plain.one, inside.one, sizeof(float[53 * 48])) == 0);
    CHECK(memcmp(plain.many.weight, inside.many.weight, sizeof(float[33 * 53])) == 0);
    CHECK_OK(storage_plain_save_bytes(&plain, saved, sizeof saved, &saved_length));
    CHECK(has(saved, saved_length, "one", MODC_FLOAT32));

    /* files that are not as they should be change nothing */
    CHECK_OK(loaded_load_bytes(&params, narrow, narrow_length, MODC_STRICT, &report));
    check_refused(&params, "four.weight: int4(group=32)", "four.weight: int4(group=64)");
    check_refused(&params, "first.weight: int8", "first.weight: int4");
    check_refused(&params, "odd.weight_scale\"", "odd.weight_scalf\"");
    CHECK(same_packed(inside.base.packed, 0));
    return 0;
}
