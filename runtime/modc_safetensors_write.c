/* modc_safetensors_write.c - writes safetensors into memory, in the order of the reference writer. */
#include "modc_integers.h"
#include "modc_places.h"

#include <string.h>

/* A tensor, and what stands behind its name. */
struct wanted {
    struct modc_named_tensor named;
    const char *suffix;
};

/* The byte at *text, and one further, from the name to what stands behind it; 0 at the end. */
static int next_of(const char **text, const char **suffix)
{
    if (**text == '\0') {
        *text = *suffix;
        *suffix = "";
    }
    return **text == '\0' ? 0 : (unsigned char)*(*text)++;
}

static int compare_names(const struct wanted *x, const struct wanted *y)
{
    const char *a = x->named.name, *b = y->named.name, *behind_a = x->suffix, *behind_b = y->suffix;
    int one, other;

    do {
        one = next_of(&a, &behind_a);
        other = next_of(&b, &behind_b);
    } while (one == other && one != 0);
    return one - other;
}

/* Counts where out is NULL. */
struct sink {
    char *out;
    size_t at;
};

static void put(struct sink *sink, const char *text)
{
    for (; *text != '\0'; text++, sink->at++) {
        if (sink->out != NULL)
            sink->out[sink->at] = *text;
    }
}

static void put_number(struct sink *sink, uint64_t number)
{
    char digits[24];
    int i = (int)sizeof digits - 1;

    digits[i] = '\0';
    do {
        digits[--i] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put(sink, digits + i);
}

/* What stands between the quotes. */
static void put_escaped(struct sink *sink, const char *text)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt", hex[] = "0123456789abcdef";

    for (; *text != '\0'; text++) {
        unsigned char c = (unsigned char)*text;
        char piece[7] = {*text, '\0', '\0', '\0', '\0', '\0', '\0'};

        for (int i = 0; from[i] != '\0'; i++) {
            if (*text == from[i]) {
                piece[0] = '\\';
                piece[1] = to[i];
            }
        }
        if (c < 0x20 && piece[0] != '\\') {
            piece[0] = '\\';
            piece[1] = 'u';
            piece[2] = piece[3] = '0';
            piece[4] = hex[c >> 4];
            piece[5] = hex[c & 15];
        }
        put(sink, piece);
    }
}

static void put_entry(struct sink *sink, const struct wanted *wanted, uint64_t begin)
{
    const struct modc_tensor *tensor = &wanted->named.tensor;
    int rank;

    put(sink, "\"");
    put_escaped(sink, wanted->named.name);
    put_escaped(sink, wanted->suffix);
    put(sink, "\":{\"dtype\":\"");
    put(sink, modc_file_dtype(tensor->dtype, &rank));
    put(sink, "\",\"shape\":[");
    for (int i = 0; i < tensor->ndim; i++) {
        if (i > 0)
            put(sink, ",");
        put_number(sink, (uint64_t)tensor->dims[i]);
    }
    if (tensor->dtype == MODC_COMPLEX128)
        put(sink, tensor->ndim > 0 ? ",2" : "2");
    put(sink, "],\"data_offsets\":[");
    put_number(sink, begin);
    put(sink, ",");
    put_number(sink, begin + modc_tensor_bytes(tensor));
    put(sink, "]}");
}

/* Whether a stands before b in a file. */
static bool tensor_less(const struct wanted *a, const struct wanted *b)
{
    int x, y;

    modc_file_dtype(a->named.tensor.dtype, &x);
    modc_file_dtype(b->named.tensor.dtype, &y);
    return x != y ? x > y : compare_names(a, b) < 0;
}

/* The tensors in file order; as note [sorting without memory]. */
struct order {
    const struct modc_writer *writer;
    int held[MODC_BATCH], count, at; /* indices */
    int last;                        /* or -1 */
};

static void order_start(struct order *order, const struct modc_writer *writer)
{
    order->writer = writer;
    order->count = 0;
    order->at = 0;
    order->last = -1;
}

static struct wanted tensor_of(const struct modc_writer *writer, int index)
{
    struct wanted wanted;

    wanted.named.name = NULL;
    wanted.suffix = writer->suffix != NULL ? writer->suffix(writer, index) : "";
    writer->get(writer, index, &wanted.named);
    return wanted;
}

static void order_refill(struct order *order)
{
    const struct modc_writer *writer = order->writer;
    struct wanted last = {{NULL, {NULL, MODC_BOOL, 0, {0}}}, ""};

    if (order->last >= 0)
        last = tensor_of(writer, order->last);
    order->count = 0;
    order->at = 0;
    for (int index = 0; index < writer->count; index++) {
        struct wanted wanted = tensor_of(writer, index);

        if (wanted.named.name == NULL || (order->last >= 0 && !tensor_less(&last, &wanted)))
            continue;

        int i = order->count;

        if (i == MODC_BATCH) {
            struct wanted largest = tensor_of(writer, order->held[MODC_BATCH - 1]);

            if (!tensor_less(&wanted, &largest))
                continue;
            i--;
        } else {
            order->count++;
        }
        for (; i > 0; i--) {
            struct wanted before = tensor_of(writer, order->held[i - 1]);

            if (!tensor_less(&wanted, &before))
                break;
            order->held[i] = order->held[i - 1];
        }
        order->held[i] = index;
    }
}

/* The next tensor of the file, or -1. */
static int order_next(struct order *order)
{
    if (order->at == order->count) {
        if (order->count > 0 && order->count < MODC_BATCH)
            return -1;
        order_refill(order);
        if (order->count == 0)
            return -1;
    }
    order->last = order->held[order->at++];
    return order->last;
}

/* A line of the metadata for each tensor that has one: the names of complex128 tensors, note [complex128] in modc_safetensors.c;
 * and what integers are held as. Whether there are any; `before`: whether something stands there already. */
static bool put_lines(struct sink *sink, const struct modc_writer *writer, const char *key, bool stored,
                      bool before)
{
    struct order order;
    bool any = false;

    if (stored && writer->stored == NULL)
        return before;
    order_start(&order, writer);
    for (int index = order_next(&order); index >= 0; index = order_next(&order)) {
        struct wanted wanted = tensor_of(writer, index);
        struct modc_storage storage;
        char text[MODC_STORAGE_TEXT];

        if (stored ? !writer->stored(writer, index, &storage) : wanted.named.tensor.dtype != MODC_COMPLEX128)
            continue;
        if (!any) {
            put(sink, before ? "," : "\"__metadata__\":{");
            put(sink, "\"");
            put(sink, key);
            put(sink, "\":\"");
        } else {
            put(sink, "\\n");
        }
        put_escaped(sink, wanted.named.name);
        put_escaped(sink, wanted.suffix);
        if (stored) {
            modc_storage_text(&storage, text);
            put(sink, ": ");
            put(sink, text);
        }
        any = true;
    }
    put(sink, any ? "\"" : "");
    return any || before;
}

/* The padded header with its length in front, and how many bytes of data follow. False: a name stands there
 * twice. */
static bool put_header(struct sink *sink, const struct modc_writer *writer, uint64_t *data)
{
    struct order order;
    struct wanted before = {{NULL, {NULL, MODC_BOOL, 0, {0}}}, ""};
    bool marked;

    *data = 0;
    sink->at = 8;
    put(sink, "{");
    marked = put_lines(sink, writer, MODC_COMPLEX128_KEY, false, false);
    marked = put_lines(sink, writer, MODC_STORAGE_KEY, true, marked);
    put(sink, marked ? "}" : "");
    order_start(&order, writer);
    for (int index = order_next(&order); index >= 0; index = order_next(&order)) {
        struct wanted wanted = tensor_of(writer, index);

        if (before.named.name != NULL && !tensor_less(&before, &wanted))
            return false;
        if (before.named.name != NULL || marked)
            put(sink, ",");
        put_entry(sink, &wanted, *data);
        *data += modc_tensor_bytes(&wanted.named.tensor);
        before = wanted;
    }
    put(sink, "}");
    while (sink->at % 8 != 0)
        put(sink, " ");
    if (sink->out != NULL) {
        uint64_t header = sink->at - 8;

        for (int i = 0; i < 8; i++)
            sink->out[i] = (char)(header >> (8 * i) & 0xff);
    }
    return true;
}

enum modc_status modc_writer_run(const struct modc_writer *writer, void *out, size_t capacity, size_t *length)
{
    struct sink sink = {NULL, 0};
    uint64_t data;

    if (!put_header(&sink, writer, &data))
        return MODC_ARGUMENT;
    if (data > SIZE_MAX - sink.at || sink.at - 8 > 100000000)
        return MODC_SIZE;
    *length = sink.at + (size_t)data;
    if (out == NULL)
        return MODC_OK;
    if (capacity < *length)
        return MODC_SIZE;
    sink.out = out;
    put_header(&sink, writer, &data);

    struct order order;

    order_start(&order, writer);
    for (int index = order_next(&order); index >= 0; index = order_next(&order)) {
        struct wanted wanted = tensor_of(writer, index);
        enum modc_status status = writer->copy(writer, index, sink.out + sink.at);

        if (status != MODC_OK)
            return status;
        sink.at += modc_tensor_bytes(&wanted.named.tensor);
    }
    return MODC_OK;
}

static void get_named(const struct modc_writer *writer, int index, struct modc_named_tensor *named)
{
    const struct modc_named_tensor *tensors = writer->user;

    *named = tensors[index];
}

static enum modc_status copy_named(const struct modc_writer *writer, int index, void *out)
{
    const struct modc_named_tensor *tensors = writer->user;
    size_t bytes = modc_tensor_bytes(&tensors[index].tensor);

    if (bytes > 0)
        memcpy(out, tensors[index].tensor.data, bytes);
    return MODC_OK;
}

enum modc_status modc_write_tensors(const struct modc_named_tensor *tensors, int count, void *out,
                                    size_t capacity, size_t *length)
{
    struct modc_writer writer = {count, tensors, get_named, copy_named, NULL, NULL};

    return modc_writer_run(&writer, out, capacity, length);
}
