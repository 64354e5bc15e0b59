/* safetensors.c - the fuzz target of the runtime's reader: any bytes as a file for a small model. The first byte gives
 * the flags of the load. Whatever is refused leaves the model as it was; whatever is taken can be saved and read. */
#include "fuzz.h"

#include "../support/tiny.h"

struct model {
    MODC_ALIGNED char block[BLOCK];
    struct tiny_params params;
};

static void ignore(void *user, const char *text, size_t length)
{
    size_t *all = user;

    (void)text;
    *all += length;
}

static void check(bool holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "it does not hold that %s\n", what);
    abort();
}

/* The model as it is before any load. */
static void start(struct model *model)
{
    static struct model fresh;
    static bool made;

    if (!made) {
        check(modc_bind(&model->params.head, &tiny_model, model->block, BLOCK) == MODC_OK,
              "a block can be bound");
        check(modc_reset(&model->params.head, 0) == MODC_OK, "parameters can be drawn");
        fresh = *model;
        made = true;
    }
    *model = fresh;
}

/* Everything that a reader can say about the file. */
static void read_items(const void *bytes, size_t length, struct modc_report *report)
{
    struct modc_reader reader;
    struct modc_item item, found;
    char name[16];
    size_t count = 0;

    if (modc_reader_open(&reader, bytes, length, report) != MODC_OK)
        return;
    for (size_t at = 0; modc_reader_next(&reader, &at, &item); count++) {
        const unsigned char *data = item.data;
        volatile unsigned char last = 0;

        check(data >= reader.bytes + reader.data && item.bytes <= length &&
                  data + item.bytes <= reader.bytes + length,
              "a tensor lies inside the file");
        if (item.bytes > 0)
            last = (unsigned char)(data[0] ^ data[item.bytes - 1]);
        (void)last;
        if (modc_item_name(&item, name, sizeof name) < sizeof name && !strstr(name, "\\"))
            check(strlen(name) < sizeof name, "a name ends");
        if (count < 4)
            check(!modc_reader_find(&reader, name, &found) || found.data, "what is found has data");
    }
    check(count == reader.count, "a reader counts its tensors");
}

/* The same file with an index: all of it is the same. */
static void read_indexed(const void *bytes, size_t length)
{
    static struct modc_report plain_report, indexed_report;
    struct modc_reader plain, indexed;
    struct modc_item a, b;
    size_t room = modc_reader_index_bytes(bytes, length), at = 0, other = 0;
    void *memory = malloc(room);
    enum modc_status status = modc_reader_open(&plain, bytes, length, &plain_report);

    check(modc_reader_open_indexed(&indexed, bytes, length, memory, room, &indexed_report) == status,
          "an index changes no status");
    check(plain_report.format == indexed_report.format &&
              plain_report.format_at == indexed_report.format_at &&
              strcmp(plain_report.name, indexed_report.name) == 0,
          "an index finds the same fault");
    if (status == MODC_OK) {
        check(indexed.index != NULL, "there is memory enough");
        check(plain.count == indexed.count && plain.duplicates == indexed.duplicates,
              "an index counts the same");
        while (modc_reader_next(&plain, &at, &a)) {
            check(modc_reader_next(&indexed, &other, &b) && at == other && a.data == b.data,
                  "both read the same");
            if (memchr(a.name, '\\', a.name_length) == NULL && a.name_length < 64) {
                char name[64];

                memcpy(name, a.name, a.name_length);
                name[a.name_length] = '\0';
                check(modc_reader_find(&indexed, name, &b) && a.name == b.name && a.data == b.data,
                      "a name is found by the index");
            }
        }
        check(!modc_reader_next(&indexed, &other, &b), "both end at the same place");
    }
    free(memory);
}

static void load(struct model *model, const void *bytes, size_t length, unsigned flags,
                 struct modc_report *report)
{
    struct model before = *model;
    size_t written = 0, saved;
    enum modc_status status = modc_load_bytes(&model->params.head, bytes, length, flags, report);
    char *out;

    modc_report_print(report, ignore, &written);
    check(written > 0, "a report says something");
    check(report->status == status, "the report has the status");
    if (status != MODC_OK) {
        check(memcmp(model->block, before.block, BLOCK) == 0 &&
                  memcmp(&model->params, &before.params, sizeof before.params) == 0,
              "a refused file changes nothing");
        return;
    }
    before = *model;
    check(modc_save_bytes(&model->params.head, NULL, 0, &saved) == MODC_OK, "a length is known");
    out = malloc(saved);
    check(out && modc_save_bytes(&model->params.head, out, saved, &saved) == MODC_OK,
          "what was loaded is saved");
    start(model);
    check(modc_load_bytes(&model->params.head, out, saved, MODC_STRICT, report) == MODC_OK,
          "what was saved is loaded");
    check((flags & MODC_ASSIGN) != 0 || memcmp(model->block, before.block, BLOCK) == 0,
          "tensors, and the scales that they came with, come back from what was saved");
    free(out);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct model model;
    static struct modc_report report;
    unsigned flags = size > 0 ? data[0] & (MODC_STRICT | MODC_ASSIGN) : 0;
    size_t length = size > 0 ? size - 1 : 0;
    char *bytes;
    void *aligned;

    /* at a multiple of 64, as a mapped file, and of its own size */
    if (posix_memalign(&aligned, 64, length > 0 ? length : 1) != 0)
        abort();
    bytes = aligned;
    if (length > 0)
        memcpy(bytes, data + 1, length);
    start(&model);
    read_items(bytes, length, &report);
    read_indexed(bytes, length);
    load(&model, bytes, length, flags, &report);
    free(bytes);
    return 0;
}
