/* modc_safetensors.c - reads and writes safetensors in memory.
 *
 * Apart from modc_state.c because it knows files, not models: the driver uses it for inputs and outputs. The
 * reader checks what the reference reader checks (module-semantics 7.3), in its order, without allocating:
 * the JSON is walked in passes, see note [sorting without memory]. */
#include "modc.h"

#include <string.h>

#if defined __BYTE_ORDER__ && defined __ORDER_LITTLE_ENDIAN__
#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "safetensors files are little-endian, and so must be the machine"
#endif
#endif

/* ---- dtypes -------------------------------------------------------------------------------------------- */

/* In the order in which files are sorted, last first. */
static const struct file_dtype {
    const char *name;
    unsigned bits;
    int dtype; /* enum modc_dtype, or -1 */
} file_dtypes[] = {
    {"BOOL", 8, MODC_BOOL},
    {"F4", 4, -1},
    {"F6_E2M3", 6, -1},
    {"F6_E3M2", 6, -1},
    {"U8", 8, MODC_UINT8},
    {"I8", 8, MODC_INT8},
    {"F8_E5M2", 8, -1},
    {"F8_E4M3", 8, -1},
    {"F8_E8M0", 8, -1},
    {"F8_E4M3FNUZ", 8, -1},
    {"F8_E5M2FNUZ", 8, -1},
    {"I16", 16, MODC_INT16},
    {"U16", 16, -1},
    {"F16", 16, MODC_FLOAT16},
    {"BF16", 16, MODC_BFLOAT16},
    {"I32", 32, MODC_INT32},
    {"U32", 32, -1},
    {"F32", 32, MODC_FLOAT32},
    {"C64", 64, MODC_COMPLEX64},
    {"F64", 64, MODC_FLOAT64},
    {"I64", 64, MODC_INT64},
    {"U64", 64, -1},
};
enum { FILE_DTYPES = sizeof file_dtypes / sizeof file_dtypes[0] };

static int rank_of(enum modc_dtype dtype)
{
    int rank = 0;

    while (rank < FILE_DTYPES - 1 && file_dtypes[rank].dtype != (int)dtype)
        rank++;
    return rank;
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

/* The bytes of a JSON string between its quotes, once its grammar has been checked. */
struct slice {
    const unsigned char *text;
    size_t length;
};

struct decoder {
    struct slice rest;
    unsigned char held[4]; /* the UTF-8 bytes of an escape */
    int held_count, held_at;
};

static unsigned hex_value(const unsigned char *text)
{
    unsigned value = 0;

    for (int i = 0; i < 4; i++) {
        unsigned c = text[i];

        value = value * 16 + (c <= '9' ? c - '0' : (c | 32u) - 'a' + 10);
    }
    return value;
}

static void hold_utf8(struct decoder *d, uint32_t code)
{
    int count = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    static const unsigned char lead[] = {0, 0, 0xc0, 0xe0, 0xf0};

    for (int i = count - 1; i > 0; i--) {
        d->held[i] = (unsigned char)(0x80 | (code & 0x3f));
        code >>= 6;
    }
    d->held[0] = (unsigned char)(lead[count] | code);
    d->held_count = count;
    d->held_at = 0;
}

/* The next byte of the decoded string, or -1 at its end. */
static int next_byte(struct decoder *d)
{
    if (d->held_at < d->held_count)
        return d->held[d->held_at++];
    if (d->rest.length == 0)
        return -1;

    const unsigned char *text = d->rest.text;
    size_t used = 1;
    int byte = text[0];

    if (byte == '\\') {
        static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";

        used = 2;
        byte = text[1];
        for (int i = 0; i < 5; i++) {
            if (text[1] == (unsigned char)from[i])
                byte = (unsigned char)to[i];
        }
        if (text[1] == 'u') {
            uint32_t code = hex_value(text + 2);

            used = 6;
            if (code >= 0xd800 && code < 0xdc00) {
                code = 0x10000 + ((code - 0xd800) << 10) + (hex_value(text + 8) - 0xdc00);
                used = 12;
            }
            hold_utf8(d, code);
            byte = d->held[d->held_at++];
        }
    }
    d->rest.text += used;
    d->rest.length -= used;
    return byte;
}

static struct decoder decode(struct slice slice)
{
    struct decoder d = {{slice.text, slice.length}, {0, 0, 0, 0}, 0, 0};

    return d;
}

static bool slice_is(struct slice slice, const char *text)
{
    struct decoder d = decode(slice);

    for (;; text++) {
        int byte = next_byte(&d);

        if (byte < 0)
            return *text == '\0';
        if (byte == 0 || byte != (unsigned char)*text)
            return false;
    }
}

static bool slices_equal(struct slice a, struct slice b)
{
    struct decoder x = decode(a), y = decode(b);

    for (;;) {
        int byte = next_byte(&x);

        if (byte != next_byte(&y))
            return false;
        if (byte < 0)
            return true;
    }
}

static uint64_t slice_hash(struct slice slice)
{
    struct decoder d = decode(slice);
    uint64_t hash = 14695981039346656037u;

    for (int byte = next_byte(&d); byte >= 0; byte = next_byte(&d))
        hash = (hash ^ (uint64_t)byte) * 1099511628211u;
    return hash;
}

struct scan {
    const unsigned char *text;
    size_t length, at;
};

static void skip_blanks(struct scan *s)
{
    while (s->at < s->length) {
        unsigned char c = s->text[s->at];

        if (c != ' ' && c != '\n' && c != '\t' && c != '\r')
            return;
        s->at++;
    }
}

/* The next character that is not blank, or -1; it stays where it is. */
static int peek(struct scan *s)
{
    skip_blanks(s);
    return s->at < s->length ? s->text[s->at] : -1;
}

static bool take(struct scan *s, int c)
{
    if (peek(s) != c)
        return false;
    s->at++;
    return true;
}

static bool is_digit(const struct scan *s)
{
    return s->at < s->length && s->text[s->at] >= '0' && s->text[s->at] <= '9';
}

/* Four hexadecimal digits; -1 if they are not there. */
static int32_t scan_hex(struct scan *s)
{
    if (s->length - s->at < 4)
        return -1;
    for (size_t i = 0; i < 4; i++) {
        unsigned char c = s->text[s->at + i];

        if (!((c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F')))
            return -1;
    }
    s->at += 4;
    return (int32_t)hex_value(s->text + s->at - 4);
}

static bool scan_escape(struct scan *s)
{
    static const char allowed[] = "\"\\/bfnrt";

    if (s->at == s->length)
        return false;

    unsigned char c = s->text[s->at++];

    for (int i = 0; allowed[i] != '\0'; i++) {
        if (c == (unsigned char)allowed[i])
            return true;
    }
    if (c != 'u')
        return false;

    int32_t code = scan_hex(s);

    if (code < 0xd800 || code > 0xdfff)
        return code >= 0;
    if (code >= 0xdc00 || s->length - s->at < 6 || s->text[s->at] != '\\' || s->text[s->at + 1] != 'u')
        return false;
    s->at += 2;
    code = scan_hex(s);
    return code >= 0xdc00 && code <= 0xdfff;
}

static bool scan_string(struct scan *s, struct slice *out)
{
    if (!take(s, '"'))
        return false;

    size_t start = s->at;

    while (s->at < s->length) {
        unsigned char c = s->text[s->at++];

        if (c == '"') {
            out->text = s->text + start;
            out->length = s->at - 1 - start;
            return true;
        }
        if (c < 0x20 || (c == '\\' && !scan_escape(s)))
            return false;
    }
    return false;
}

/* A number without sign, fraction or exponent. */
static bool scan_unsigned(struct scan *s, uint64_t *out)
{
    skip_blanks(s);
    if (!is_digit(s))
        return false;

    size_t start = s->at;

    *out = 0;
    for (; is_digit(s); s->at++) {
        unsigned digit = (unsigned)s->text[s->at] - '0';

        if (*out > (UINT64_MAX - digit) / 10)
            return false;
        *out = *out * 10 + digit;
    }
    if (s->at < s->length && (s->text[s->at] == '.' || (s->text[s->at] | 32) == 'e'))
        return false;
    return s->at - start == 1 || s->text[start] != '0';
}

static bool scan_number(struct scan *s)
{
    if (s->text[s->at] == '-')
        s->at++;
    if (!is_digit(s))
        return false;
    if (s->text[s->at] == '0')
        s->at++;
    else
        while (is_digit(s))
            s->at++;
    if (s->at < s->length && s->text[s->at] == '.') {
        s->at++;
        if (!is_digit(s))
            return false;
        while (is_digit(s))
            s->at++;
    }
    if (s->at < s->length && (s->text[s->at] | 32) == 'e') {
        s->at++;
        if (s->at < s->length && (s->text[s->at] == '+' || s->text[s->at] == '-'))
            s->at++;
        if (!is_digit(s))
            return false;
        while (is_digit(s))
            s->at++;
    }
    return true;
}

static bool scan_word(struct scan *s, const char *word)
{
    for (; *word != '\0'; word++, s->at++) {
        if (s->at == s->length || s->text[s->at] != (unsigned char)*word)
            return false;
    }
    return true;
}

/* Any value: extra fields of an entry. 125 levels below it make the 128 that the reference allows in all. */
static bool skip_value(struct scan *s)
{
    enum { DEPTH = 125 };
    bool object[DEPTH];
    int depth = 0;

    for (;;) {
        int c = peek(s);
        struct slice string;
        bool opened = false;

        if (c == '{' || c == '[') {
            if (depth == DEPTH)
                return false;
            s->at++;
            object[depth++] = c == '{';
            opened = true;
        } else if (c == '"') {
            if (!scan_string(s, &string))
                return false;
        } else if (c == 't' || c == 'f' || c == 'n') {
            if (!scan_word(s, c == 't' ? "true" : c == 'f' ? "false" : "null"))
                return false;
        } else if (c < 0 || !scan_number(s)) {
            return false;
        }

        /* Close what ends here, then step to the next value. */
        for (;;) {
            if (depth == 0)
                return true;
            if (take(s, object[depth - 1] ? '}' : ']')) {
                depth--;
                opened = false;
                continue;
            }
            if (!opened && !take(s, ','))
                return false;
            if (object[depth - 1] && !(scan_string(s, &string) && take(s, ':')))
                return false;
            break;
        }
    }
}

/* ---- one entry of the header --------------------------------------------------------------------------- */

struct entry {
    struct slice name;
    const struct file_dtype *dtype;
    int ndim;
    uint64_t dims[MODC_MAX_DIMS];
    uint64_t elements, begin, end;
    bool overflow; /* elements does not fit */
    size_t at;     /* where in the header it stands */
};

static bool scan_dtype(struct scan *s, struct entry *entry)
{
    struct slice name;

    if (!scan_string(s, &name))
        return false;
    for (int i = 0; i < FILE_DTYPES; i++) {
        if (slice_is(name, file_dtypes[i].name)) {
            entry->dtype = &file_dtypes[i];
            return true;
        }
    }
    return false;
}

static bool scan_shape(struct scan *s, struct entry *entry)
{
    if (!take(s, '['))
        return false;
    entry->ndim = 0;
    entry->elements = 1;
    if (take(s, ']'))
        return true;
    do {
        uint64_t dim;

        if (!scan_unsigned(s, &dim))
            return false;
        if (entry->ndim < MODC_MAX_DIMS)
            entry->dims[entry->ndim] = dim;
        entry->ndim++;
        if (dim != 0 && entry->elements > UINT64_MAX / dim)
            entry->overflow = true;
        entry->elements *= dim;
    } while (take(s, ','));
    return take(s, ']');
}

/* {"dtype": "F32", "shape": [2, 3], "data_offsets": [0, 24]}; fields that are not known are passed over. */
static bool scan_info(struct scan *s, struct entry *entry)
{
    enum { DTYPE = 1, SHAPE = 2, OFFSETS = 4, ALL = 7 };
    unsigned seen = 0;

    entry->overflow = false;
    if (!take(s, '{'))
        return false;
    if (take(s, '}'))
        return false;
    do {
        struct slice field;

        if (!scan_string(s, &field) || !take(s, ':'))
            return false;

        unsigned bit = slice_is(field, "dtype")          ? DTYPE
                       : slice_is(field, "shape")        ? SHAPE
                       : slice_is(field, "data_offsets") ? OFFSETS
                                                         : 0u;

        if ((seen & bit) != 0)
            return false;
        seen |= bit;
        if (bit == DTYPE ? !scan_dtype(s, entry) : bit == SHAPE ? !scan_shape(s, entry) : false)
            return false;
        if (bit == OFFSETS && !(take(s, '[') && scan_unsigned(s, &entry->begin) && take(s, ',') &&
                                scan_unsigned(s, &entry->end) && take(s, ']')))
            return false;
        if (bit == 0 && !skip_value(s))
            return false;
    } while (take(s, ','));
    return seen == ALL && take(s, '}');
}

/* null, or an object of strings. */
static bool scan_metadata(struct scan *s)
{
    if (peek(s) == 'n')
        return scan_word(s, "null");
    if (!take(s, '{'))
        return false;
    if (take(s, '}'))
        return true;
    do {
        struct slice key, value;

        if (!scan_string(s, &key) || !take(s, ':') || !scan_string(s, &value))
            return false;
    } while (take(s, ','));
    return take(s, '}');
}

enum step { STEP_ENTRY, STEP_METADATA, STEP_END, STEP_FAULT };

/* One member of the header, at s->at (0 at first); leaves s->at behind it. */
static enum step scan_member(struct scan *s, struct entry *entry)
{
    if (s->at == 0) {
        if (!take(s, '{'))
            return STEP_FAULT;
        if (take(s, '}'))
            return STEP_END;
    } else if (take(s, '}')) {
        return STEP_END;
    } else if (!take(s, ',')) {
        return STEP_FAULT;
    }
    skip_blanks(s);
    entry->at = s->at;
    if (!scan_string(s, &entry->name) || !take(s, ':'))
        return STEP_FAULT;
    if (slice_is(entry->name, "__metadata__"))
        return scan_metadata(s) ? STEP_METADATA : STEP_FAULT;
    return scan_info(s, entry) ? STEP_ENTRY : STEP_FAULT;
}

/* Whether a later entry, from `from` on, has the same name: then that one counts. */
static bool is_dead(const struct scan *all, size_t from, struct slice name)
{
    struct scan s = {all->text, all->length, from};
    struct entry entry;

    for (;;) {
        enum step step = scan_member(&s, &entry);

        if (step == STEP_END || step == STEP_FAULT)
            return false;
        if (step == STEP_ENTRY && slices_equal(name, entry.name))
            return true;
    }
}

static struct scan scan_of(const struct modc_reader *reader, size_t at)
{
    struct scan s = {reader->bytes + 8, reader->header, at};

    return s;
}

static bool next_entry(const struct modc_reader *reader, size_t *at, struct entry *entry)
{
    struct scan s = scan_of(reader, *at);

    for (;;) {
        enum step step = scan_member(&s, entry);

        if (step == STEP_END || step == STEP_FAULT)
            return false;
        if (step == STEP_METADATA || (reader->duplicates && is_dead(&s, s.at, entry->name)))
            continue;
        *at = s.at;
        return true;
    }
}

/* ---- checks -------------------------------------------------------------------------------------------- */

/* Note [sorting without memory]: a batch takes the smallest BATCH places that are larger than the last one
 * of the batch before, in one pass over all of them. n places are walked in order in n / BATCH + 1 passes. */
enum { BATCH = MODC_SMALL ? 24 : 512 };

struct place {
    uint64_t first, second;
    size_t at;
};

struct batch {
    struct place places[BATCH];
    int count;
    bool started;
    struct place last;
};

static bool place_less(const struct place *a, const struct place *b)
{
    if (a->first != b->first)
        return a->first < b->first;
    if (a->second != b->second)
        return a->second < b->second;
    return a->at < b->at;
}

static void batch_start(struct batch *batch)
{
    batch->count = 0;
    batch->started = false;
}

/* Before the next pass. */
static void batch_next(struct batch *batch)
{
    batch->started = true;
    batch->last = batch->places[batch->count - 1];
    batch->count = 0;
}

static void batch_offer(struct batch *batch, struct place place)
{
    if (batch->started && !place_less(&batch->last, &place))
        return;

    int i = batch->count;

    if (batch->count == BATCH) {
        if (!place_less(&place, &batch->places[BATCH - 1]))
            return;
        i--;
    } else {
        batch->count++;
    }
    for (; i > 0 && place_less(&place, &batch->places[i - 1]); i--)
        batch->places[i] = batch->places[i - 1];
    batch->places[i] = place;
}

static bool valid_utf8(const unsigned char *text, size_t length, size_t *at)
{
    size_t i = 0;

    while (i < length) {
        unsigned char c = text[i];
        size_t more = c < 0x80 ? 0 : c < 0xc2 ? 4 : c < 0xe0 ? 1 : c < 0xf0 ? 2 : c < 0xf5 ? 3 : 4;

        *at = i;
        if (more == 4 || length - i <= more)
            return false;
        for (size_t k = 1; k <= more; k++) {
            if ((text[i + k] & 0xc0) != 0x80)
                return false;
        }
        if (more > 1) {
            unsigned char second = text[i + 1];

            if ((c == 0xe0 && second < 0xa0) || (c == 0xed && second > 0x9f) ||
                (c == 0xf0 && second < 0x90) || (c == 0xf4 && second > 0x8f))
                return false;
        }
        i += more + 1;
    }
    return true;
}

static enum modc_format check_json(struct modc_reader *reader, size_t *at)
{
    struct scan s = scan_of(reader, 0);
    bool metadata = false;
    enum step step;
    struct entry entry;

    if (!valid_utf8(s.text, s.length, at))
        return MODC_FORMAT_UTF8;
    reader->count = 0;
    while ((step = scan_member(&s, &entry)) == STEP_ENTRY || step == STEP_METADATA) {
        if (step == STEP_ENTRY)
            reader->count++;
        else if (metadata)
            break;
        else
            metadata = true;
    }
    *at = s.at;
    return step == STEP_END && peek(&s) < 0 ? MODC_FORMAT_OK : MODC_FORMAT_JSON;
}

/* Equal names have equal hashes; hashes that are equal by chance only make the reader slower. */
static void find_duplicates(struct modc_reader *reader)
{
    struct batch batch;
    size_t live = 0;

    batch_start(&batch);
    for (size_t seen = 0; seen < reader->count;) {
        size_t at = 0;
        struct entry entry;

        while (next_entry(reader, &at, &entry)) {
            struct place place = {slice_hash(entry.name), 0, entry.at};

            batch_offer(&batch, place);
        }
        for (int i = 0; i < batch.count; i++) {
            const struct place *before = i > 0 ? &batch.places[i - 1] : batch.started ? &batch.last : NULL;

            if (before != NULL && before->first == batch.places[i].first)
                reader->duplicates = true;
        }
        if (reader->duplicates)
            break;
        seen += (size_t)batch.count;
        batch_next(&batch);
    }
    if (!reader->duplicates)
        return;

    struct entry entry;

    for (size_t at = 0; next_entry(reader, &at, &entry);)
        live++;
    reader->count = live;
}

static enum modc_format check_entry(const struct entry *entry, uint64_t position)
{
    if (entry->begin != position || entry->end < entry->begin)
        return MODC_FORMAT_OFFSET;
    if (entry->overflow || (entry->elements != 0 && entry->dtype->bits > UINT64_MAX / entry->elements))
        return MODC_FORMAT_OVERFLOW;

    uint64_t bits = entry->elements * entry->dtype->bits;

    if (bits % 8 != 0)
        return MODC_FORMAT_SUBBYTE;
    return entry->end - entry->begin == bits / 8 ? MODC_FORMAT_OK : MODC_FORMAT_INFO;
}

/* Most files list their tensors as they lie. False: this one does not, or has a fault. */
static bool check_as_listed(const struct modc_reader *reader, uint64_t *end)
{
    struct entry entry;
    size_t at = 0;

    *end = 0;
    while (next_entry(reader, &at, &entry)) {
        if (check_entry(&entry, *end) != MODC_FORMAT_OK)
            return false;
        *end = entry.end;
    }
    return true;
}

static enum modc_format check_sorted(const struct modc_reader *reader, uint64_t *end, struct slice *name)
{
    struct batch batch;

    batch_start(&batch);
    *end = 0;
    for (size_t seen = 0; seen < reader->count;) {
        size_t at = 0;
        struct entry entry;

        while (next_entry(reader, &at, &entry)) {
            struct place place = {entry.begin, entry.end, entry.at};

            batch_offer(&batch, place);
        }
        for (int i = 0; i < batch.count; i++) {
            struct scan s = scan_of(reader, batch.places[i].at);

            if (!scan_string(&s, &entry.name) || !take(&s, ':') || !scan_info(&s, &entry))
                return MODC_FORMAT_JSON; /* cannot be: it was read before */

            enum modc_format format = check_entry(&entry, *end);

            if (format != MODC_FORMAT_OK) {
                *name = entry.name;
                return format;
            }
            *end = entry.end;
        }
        seen += (size_t)batch.count;
        batch_next(&batch);
    }
    return MODC_FORMAT_OK;
}

static enum modc_format check_file(struct modc_reader *reader, size_t *at, struct slice *name)
{
    uint64_t header = 0, end;
    enum modc_format format;

    if (reader->length < 8)
        return MODC_FORMAT_HEADER_TOO_SMALL;
    for (size_t i = 8; i-- > 0;)
        header = header << 8 | reader->bytes[i];
    if (header > 100000000)
        return MODC_FORMAT_HEADER_TOO_LARGE;
    if (header > reader->length - 8)
        return MODC_FORMAT_HEADER_LENGTH;
    reader->header = (size_t)header;
    reader->data = 8 + reader->header;
    format = check_json(reader, at);
    if (format != MODC_FORMAT_OK)
        return format;
    find_duplicates(reader);
    if (!check_as_listed(reader, &end)) {
        format = check_sorted(reader, &end, name);
        if (format != MODC_FORMAT_OK)
            return format;
    }
    return end == reader->length - reader->data ? MODC_FORMAT_OK : MODC_FORMAT_INCOMPLETE;
}

static size_t slice_text(struct slice slice, char *out, size_t capacity)
{
    struct decoder d = decode(slice);
    size_t length = 0;

    for (int byte = next_byte(&d); byte >= 0; byte = next_byte(&d), length++) {
        if (length + 1 < capacity)
            out[length] = (char)byte;
    }
    if (capacity > 0)
        out[length < capacity ? length : capacity - 1] = '\0';
    return length;
}

enum modc_status modc_reader_open(struct modc_reader *reader, const void *bytes, size_t length,
                                  struct modc_report *report)
{
    size_t at = 0;
    struct slice name = {NULL, 0};

    reader->bytes = bytes;
    reader->length = bytes != NULL ? length : 0;
    reader->header = 0;
    reader->data = 0;
    reader->duplicates = false;
    reader->count = 0;

    enum modc_format format = check_file(reader, &at, &name);

    if (report != NULL) {
        report->format = format;
        report->format_at = format == MODC_FORMAT_UTF8 || format == MODC_FORMAT_JSON ? 8 + at : 0;
        slice_text(name, report->name, sizeof report->name);
    }
    return format == MODC_FORMAT_OK ? MODC_OK : MODC_FORMAT;
}

bool modc_reader_next(const struct modc_reader *reader, size_t *at, struct modc_item *item)
{
    struct entry entry;

    if (!next_entry(reader, at, &entry))
        return false;
    item->name = (const char *)entry.name.text;
    item->name_length = entry.name.length;
    item->dtype_name = entry.dtype->name;
    item->dtype = entry.dtype->dtype;
    item->ndim = entry.ndim;
    for (int i = 0; i < MODC_MAX_DIMS; i++)
        item->dims[i] = i < entry.ndim ? entry.dims[i] : 0;
    item->data = reader->bytes + reader->data + (size_t)entry.begin;
    item->bytes = (size_t)(entry.end - entry.begin);
    return true;
}

static struct slice item_slice(const struct modc_item *item)
{
    struct slice slice = {(const unsigned char *)item->name, item->name_length};

    return slice;
}

bool modc_item_is(const struct modc_item *item, const char *name)
{
    return slice_is(item_slice(item), name);
}

bool modc_item_has_shape(const struct modc_item *item, int ndim, const int *dims)
{
    for (int i = 0; i < ndim && item->ndim == ndim; i++)
        if (item->dims[i] != (uint64_t)dims[i])
            return false;
    return item->ndim == ndim;
}

size_t modc_item_name(const struct modc_item *item, char *out, size_t capacity)
{
    return slice_text(item_slice(item), out, capacity);
}

bool modc_reader_find(const struct modc_reader *reader, const char *name, struct modc_item *item)
{
    for (size_t at = 0; modc_reader_next(reader, &at, item);) {
        if (modc_item_is(item, name))
            return true;
    }
    return false;
}

/* ---- writing ------------------------------------------------------------------------------------------- */

static int compare_text(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return (int)(unsigned char)*a - (int)(unsigned char)*b;
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

static void put_string(struct sink *sink, const char *text)
{
    static const char from[] = "\"\\\b\f\n\r\t", to[] = "\"\\bfnrt", hex[] = "0123456789abcdef";

    put(sink, "\"");
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
    put(sink, "\"");
}

static void put_entry(struct sink *sink, const struct modc_named_tensor *named, uint64_t begin)
{
    const struct modc_tensor *tensor = &named->tensor;

    put_string(sink, named->name);
    put(sink, ":{\"dtype\":\"");
    put(sink, file_dtypes[rank_of(tensor->dtype)].name);
    put(sink, "\",\"shape\":[");
    for (int i = 0; i < tensor->ndim; i++) {
        if (i > 0)
            put(sink, ",");
        put_number(sink, (uint64_t)tensor->dims[i]);
    }
    put(sink, "],\"data_offsets\":[");
    put_number(sink, begin);
    put(sink, ",");
    put_number(sink, begin + modc_tensor_bytes(tensor));
    put(sink, "]}");
}

/* Whether a stands before b in a file. */
static bool tensor_less(const struct modc_named_tensor *a, const struct modc_named_tensor *b)
{
    int x = rank_of(a->tensor.dtype), y = rank_of(b->tensor.dtype);

    return x != y ? x > y : compare_text(a->name, b->name) < 0;
}

/* The tensors in file order; as note [sorting without memory]. */
struct order {
    const struct modc_writer *writer;
    int held[BATCH], count, at; /* indices */
    int last;                   /* or -1 */
};

static void order_start(struct order *order, const struct modc_writer *writer)
{
    order->writer = writer;
    order->count = 0;
    order->at = 0;
    order->last = -1;
}

static struct modc_named_tensor tensor_of(const struct modc_writer *writer, int index)
{
    struct modc_named_tensor named;

    named.name = NULL;
    writer->get(writer, index, &named);
    return named;
}

static void order_refill(struct order *order)
{
    const struct modc_writer *writer = order->writer;
    struct modc_named_tensor last = {NULL, {NULL, MODC_BOOL, 0, {0}}};

    if (order->last >= 0)
        last = tensor_of(writer, order->last);
    order->count = 0;
    order->at = 0;
    for (int index = 0; index < writer->count; index++) {
        struct modc_named_tensor named = tensor_of(writer, index);

        if (named.name == NULL || (order->last >= 0 && !tensor_less(&last, &named)))
            continue;

        int i = order->count;

        if (i == BATCH) {
            struct modc_named_tensor largest = tensor_of(writer, order->held[BATCH - 1]);

            if (!tensor_less(&named, &largest))
                continue;
            i--;
        } else {
            order->count++;
        }
        for (; i > 0; i--) {
            struct modc_named_tensor before = tensor_of(writer, order->held[i - 1]);

            if (!tensor_less(&named, &before))
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
        if (order->count > 0 && order->count < BATCH)
            return -1;
        order_refill(order);
        if (order->count == 0)
            return -1;
    }
    order->last = order->held[order->at++];
    return order->last;
}

/* The padded header with its length in front, and how many bytes of data follow. False: a name stands there
 * twice. */
static bool put_header(struct sink *sink, const struct modc_writer *writer, uint64_t *data)
{
    struct order order;
    struct modc_named_tensor before = {NULL, {NULL, MODC_BOOL, 0, {0}}};

    *data = 0;
    sink->at = 8;
    put(sink, "{");
    order_start(&order, writer);
    for (int index = order_next(&order); index >= 0; index = order_next(&order)) {
        struct modc_named_tensor named = tensor_of(writer, index);

        if (before.name != NULL && !tensor_less(&before, &named))
            return false;
        if (before.name != NULL)
            put(sink, ",");
        put_entry(sink, &named, *data);
        *data += modc_tensor_bytes(&named.tensor);
        before = named;
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
        struct modc_named_tensor named = tensor_of(writer, index);
        enum modc_status status = writer->copy(writer, index, sink.out + sink.at);

        if (status != MODC_OK)
            return status;
        sink.at += modc_tensor_bytes(&named.tensor);
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
    struct modc_writer writer = {count, tensors, get_named, copy_named};

    return modc_writer_run(&writer, out, capacity, length);
}
