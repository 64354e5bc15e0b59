/* tied.c - parameters that are one tensor: memory, files, names, initial values as PyTorch has them, embedded weights. */
#include "tied.h"
#include "check.h"

#include <string.h>

enum { BATCH = 3, WIDTH = 6, ROOM = 1 << 16 };

/* Of PyTorch: after manual_seed(5) and building; all keys are there. */
static const char state_file[] = "build/vectors/tied_9/state.safetensors";

static MODC_ALIGNED char block[TIED_PARAM_BYTES], packed[TIED_PACKED_BYTES],
    workspace[TIED_FENCED_WORKSPACE_BYTES];
static MODC_ALIGNED char file[ROOM]; /* assigned tensors stay in it */
static struct tied_params params;
static struct modc_report report;
static char said[1024];

static void add_said(void *user, const char *text, size_t length)
{
    (void)user;
    CHECK(strlen(said) + length < sizeof said);
    strncat(said, text, length);
}

static int key_of(const char *name)
{
    int key = -1;

    CHECK_OK(modc_get_parameter(&tied_model, name, &key));
    return key;
}

static void check_pointers(void)
{
    CHECK(params.table && params.last.weight == params.table && params.middle.weight == params.table);
    CHECK(params.blocks[1].fc.weight && params.blocks[2].fc.weight == params.blocks[1].fc.weight);
    CHECK(params.blocks[4].fc.bias && params.first.bias == params.blocks[4].fc.bias);
    CHECK(params.blocks[0].fc.weight != params.blocks[1].fc.weight);
}

/* The file without one key and, where another name is given, with its bytes changed under that name. */
static size_t write_file(const char *without, const char *changed)
{
    static struct modc_named_tensor tensors[64];
    static char names[64][64], data[64][256];
    struct modc_reader reader;
    struct modc_item item;
    const void *bytes;
    size_t length, written;
    int count = 0;

    CHECK_OK(modc_map(state_file, &bytes, &length));
    CHECK_OK(modc_reader_open(&reader, bytes, length, NULL));
    for (size_t at = 0; modc_reader_next(&reader, &at, &item);) {
        struct modc_tensor *tensor = &tensors[count].tensor;

        modc_item_name(&item, names[count], sizeof names[count]);
        if (without && strcmp(names[count], without) == 0)
            continue;
        CHECK(item.bytes <= sizeof data[count]);
        memcpy(data[count], item.data, item.bytes);
        if (changed && strcmp(names[count], changed) == 0)
            data[count][0] ^= 1;
        tensors[count].name = names[count];
        tensor->data = data[count];
        tensor->dtype = MODC_FLOAT32;
        tensor->ndim = item.ndim;
        for (int d = 0; d < item.ndim; d++)
            tensor->dims[d] = (int)item.dims[d];
        count++;
    }
    modc_unmap(bytes, length);
    CHECK_OK(modc_write_tensors(tensors, count, file, sizeof file, &written));
    return written;
}

/* Every tensor has the bits that the file has. */
static void same_as_file(const struct modc_params *base)
{
    struct modc_reader reader;
    struct modc_item item;
    const void *bytes;
    size_t length, own;
    static char saved[ROOM];

    CHECK_OK(modc_map(state_file, &bytes, &length));
    CHECK_OK(modc_reader_open(&reader, bytes, length, NULL));
    CHECK(reader.count == (size_t)tied_model.key_count);
    for (size_t at = 0; modc_reader_next(&reader, &at, &item);) {
        char name[64];
        float values[WIDTH * WIDTH];

        modc_item_name(&item, name, sizeof name);
        CHECK_OK(modc_get(base, key_of(name), values));
        CHECK(memcmp(values, item.data, item.bytes) == 0);
    }
    CHECK_OK(modc_save_bytes(base, saved, sizeof saved, &own)); /* writes every key of a tie */
    modc_unmap(bytes, length);
    CHECK_OK(modc_reader_open(&reader, saved, own, NULL));
    CHECK(reader.count == (size_t)tied_model.key_count);
    CHECK(modc_reader_find(&reader, "table", &item) && modc_reader_find(&reader, "last.weight", &item));
}

static void bound_and_drawn(void)
{
    /* 16 keys, 12 tensors: 6 of 36 floats, 6 of 6 */
    CHECK(tied_model.key_count == 16 && TIED_PARAM_BYTES == 6 * 192 + 6 * 64);
    CHECK_OK(tied_bind(&params, block, sizeof block));
    check_pointers();
    CHECK_OK(tied_reset(&params, 5));
    same_as_file(&params.base);
}

static void files_may_lack_either_key(void)
{
    static const char *const keys[] = {"table", "last.weight", "middle.weight", "first.bias",
                                       "blocks.4.fc.bias"};

    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        size_t length = write_file(keys[i], NULL);

        memset(block, 0, sizeof block);
        CHECK_OK(tied_load_bytes(&params, file, length, MODC_STRICT, &report));
        same_as_file(&params.base);
    }
    CHECK(tied_load_bytes(&params, file, write_file("last.bias", NULL), MODC_STRICT, NULL) == MODC_KEYS);
}

static void files_with_two_values_are_refused(void)
{
    static const unsigned flags[] = {MODC_STRICT, MODC_NON_STRICT, MODC_STRICT | MODC_ASSIGN};
    size_t length = write_file(NULL, "middle.weight");
    char before[sizeof block];

    memcpy(before, block, sizeof block);
    for (int i = 0; i < 3; i++) {
        CHECK(tied_load_bytes(&params, file, length, flags[i], &report) == MODC_KEYS);
        CHECK(memcmp(before, block, sizeof block) == 0);
        check_pointers();
    }
    modc_report_print(&report, add_said, NULL);
    CHECK(strcmp(said, "Error(s) in loading state_dict for tied:\n\t"
                       "tied parameters differ: table and middle.weight are one tensor in current model, "
                       "but have two values in checkpoint.") == 0);
}

static void names_are_pytorchs(void)
{
    struct modc_names it;
    int all = 0, once = 0;

    modc_named_parameters(&it, &tied_model, 0, "", true, false);
    while (modc_next(&it))
        all++;
    modc_named_parameters(&it, &tied_model, 0, "", true, true);
    while (modc_next(&it)) {
        CHECK(strcmp(it.name, "last.weight") != 0 && strcmp(it.name, "blocks.4.fc.bias") != 0);
        once++;
    }
    CHECK(all == 16 && once == 12);
    CHECK(key_of("last.weight") != key_of("table"));
}

static void call(struct modc_params *base, float *out)
{
    struct tied net;
    float x[BATCH * WIDTH];

    for (int i = 0; i < BATCH * WIDTH; i++)
        x[i] = (float)(i * 37 % 19) / 19.0f - 0.5f;
    CHECK_OK(modc_init(&net.base, &tied_model, base, workspace, sizeof workspace));
    CHECK_OK(tied_forward(&net, BATCH, x, out, out + BATCH * WIDTH));
}

static void assigned_and_embedded(void)
{
    struct tied_params embedded;
    float expected[2 * BATCH * WIDTH], found[2 * BATCH * WIDTH];

    CHECK_OK(tied_pack(&params, packed, sizeof packed));
    call(&params.base, expected);
    CHECK_OK(tied_load_bytes(&params, file, write_file("table", NULL), MODC_STRICT | MODC_ASSIGN, NULL));
    check_pointers();
    CHECK((const char *)params.table > file && (const char *)params.table < file + sizeof file);
    same_as_file(&params.base);
    CHECK_OK(tied_pack(&params, NULL, 0));
    call(&params.base, found);
    CHECK(memcmp(expected, found, sizeof found) == 0);

    /* the packed block holds what is tied once, and gives it back under every key */
    CHECK_OK(tied_bind_embedded(&embedded));
    CHECK(!embedded.blocks[1].fc.weight && !embedded.blocks[2].fc.weight);
    CHECK(embedded.last.weight == embedded.table && embedded.first.bias == embedded.blocks[4].fc.bias);
    same_as_file(&embedded.base);
    call(&embedded.base, found);
    CHECK(memcmp(expected, found, sizeof found) == 0);
}

int main(void)
{
    bound_and_drawn();
    files_may_lack_either_key();
    files_with_two_values_are_refused();
    names_are_pytorchs();
    assigned_and_embedded();
    return 0;
}
