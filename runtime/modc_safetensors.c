/* modc_safetensors.c - reads safetensors in memory.
 *
 * Apart from modc_state.c because it knows files, not models: the driver uses it for inputs and outputs. The
 * reader checks what the reference reader checks (module-semantics 7.3), in its order, without allocating:
 * the JSON is walked in passes, see note [sorting without memory]. */
#include "modc_places.h"

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

const char *modc_file_dtype(enum modc_dtype dtype, int *rank)
{
    if (dtype == MODC_COMPLEX128) /* pairs of its parts */
        dtype = MODC_FLOAT64;
    *rank = 0;
    while (*rank < FILE_DTYPES - 1 && file_dtypes[*rank].dtype != (int)dtype)
        ++*rank;
    return file_dtypes[*rank].name;
}

/* ---- JSON ---------------------------------------------------------------------------------------------- */

/* The bytes of a JSON string between its quotes, once its grammar has been checked. */
struct slice {
    const unsigned char *text;
    size_t length;
    bool plain; /* no JSON: a C string, which ends at its 0 byte, without escapes */
};

static struct slice plain_slice(const char *text)
{
    struct slice slice = {(const unsigned char *)text, SIZE_MAX, true};

    return slice;
}

struct decoder {
    struct slice rest;
    const char *suffix;    /* a C string behind it; or NULL */
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
    while (d->rest.length == 0 || (d->rest.plain && d->rest.text[0] == '\0')) {
        if (d->suffix == NULL)
            return -1;
        d->rest = plain_slice(d->suffix);
        d->suffix = NULL;
    }

    const unsigned char *text = d->rest.text;
    size_t used = 1;
    int byte = text[0];

    if (byte == '\\' && !d->rest.plain) {
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
    struct decoder d = {slice, NULL, {0, 0, 0, 0}, 0, 0};

    return d;
}

/* A C string, and another one behind it (or NULL). */
static struct decoder decode_joined(const char *text, const char *suffix)
{
    struct decoder d = {plain_slice(text), suffix, {0, 0, 0, 0}, 0, 0};

    return d;
}

/* Less than 0, 0 or more, as strcmp. */
static int compare_decoded(struct decoder x, struct decoder y)
{
    for (;;) {
        int one = next_byte(&x), other = next_byte(&y);

        if (one != other || one < 0)
            return one - other;
    }
}

static int compare_slices(struct slice a, struct slice b)
{
    return compare_decoded(decode(a), decode(b));
}

static bool slice_is(struct slice slice, const char *text)
{
    return compare_slices(slice, plain_slice(text)) == 0;
}

static uint64_t decoded_hash(struct decoder d)
{
    uint64_t hash = 14695981039346656037u;

    for (int byte = next_byte(&d); byte >= 0; byte = next_byte(&d))
        hash = (hash ^ (uint64_t)byte) * 1099511628211u;
    return hash;
}

static uint64_t slice_hash(struct slice slice)
{
    return decoded_hash(decode(slice));
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
            out->plain = false;
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
    struct slice marked,
        stored; /* of the metadata: note [complex128], MODC_STORAGE_KEY; without text: not there */
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
/* note [complex128]
 * Files have no type for it: such a tensor is one of float64 with a last dimension of 2 more, and the metadata list the names of all
 * of them under MODC_COMPLEX128_KEY, a line each. Those who read items see complex128. */
static bool scan_metadata(struct scan *s, struct entry *entry)
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
        if (slice_is(key, MODC_COMPLEX128_KEY))
            entry->marked = value;
        if (slice_is(key, MODC_STORAGE_KEY))
            entry->stored = value;
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
        return scan_metadata(s, entry) ? STEP_METADATA : STEP_FAULT;
    return scan_info(s, entry) ? STEP_ENTRY : STEP_FAULT;
}

static struct scan scan_of(const struct modc_reader *reader, size_t at)
{
    struct scan s = {reader->bytes + 8, reader->header, at};

    return s;
}

/* The name that stands there; it was read before. */
static struct slice name_at(const struct modc_reader *reader, size_t at)
{
    struct scan s = scan_of(reader, at);
    struct slice name = {NULL, 0, false};

    scan_string(&s, &name);
    return name;
}

/* The whole entry there; it cannot be false, since it was read before. */
static bool entry_at(const struct modc_reader *reader, size_t at, struct entry *entry)
{
    struct scan s = scan_of(reader, at);

    entry->at = at;
    return scan_string(&s, &entry->name) && take(&s, ':') && scan_info(&s, entry);
}

/* As strcmp, of a name with this hash and one of the index. */
static int compare_indexed(const struct modc_reader *reader, struct decoder name, uint64_t hash,
                           const struct modc_place *place)
{
    if (hash != place->first)
        return hash < place->first ? -1 : 1;
    return compare_decoded(name, decode(name_at(reader, place->at)));
}

/* The last one in the index with this name; NULL: there is none. */
static const struct modc_place *find_indexed(const struct modc_reader *reader, struct decoder name)
{
    const uint64_t hash = decoded_hash(name);
    size_t low = 0, high = reader->indexed; /* those before low are not behind it, those from high on are */

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (compare_indexed(reader, name, hash, &reader->index[middle]) >= 0)
            low = middle + 1;
        else
            high = middle;
    }
    if (low == 0 || compare_indexed(reader, name, hash, &reader->index[low - 1]) != 0)
        return NULL;
    return &reader->index[low - 1];
}

/* Whether a later entry has the same name: then that one counts. s stands behind this one. */
static bool is_dead(const struct modc_reader *reader, const struct scan *s, const struct entry *entry)
{
    struct scan rest = *s;
    struct entry other;

    if (reader->index != NULL)
        return find_indexed(reader, decode(entry->name))->at != entry->at;
    for (;;) {
        enum step step = scan_member(&rest, &other);

        if (step == STEP_END || step == STEP_FAULT)
            return false;
        if (step == STEP_ENTRY && compare_slices(entry->name, other.name) == 0)
            return true;
    }
}

static bool next_entry(const struct modc_reader *reader, size_t *at, struct entry *entry)
{
    struct scan s = scan_of(reader, *at);

    for (;;) {
        enum step step = scan_member(&s, entry);

        if (step == STEP_END || step == STEP_FAULT)
            return false;
        if (step == STEP_METADATA || (reader->duplicates && is_dead(reader, &s, entry)))
            continue;
        *at = s.at;
        return true;
    }
}

/* ---- checks -------------------------------------------------------------------------------------------- */

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

    entry.marked.text = entry.stored.text = NULL;

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
    reader->marked = entry.marked.text;
    reader->marked_length = entry.marked.text != NULL ? entry.marked.length : 0;
    reader->stored = entry.stored.text;
    reader->stored_length = entry.stored.text != NULL ? entry.stored.length : 0;
    *at = s.at;
    return step == STEP_END && peek(&s) < 0 ? MODC_FORMAT_OK : MODC_FORMAT_JSON;
}

static bool indexed_less(const struct modc_reader *reader, const struct modc_place *a,
                         const struct modc_place *b, bool by_name)
{
    if (by_name && a->first == b->first) {
        const int order = compare_slices(name_at(reader, a->at), name_at(reader, b->at));

        return order != 0 ? order < 0 : a->at < b->at;
    }
    return modc_place_less(a, b);
}

/* Heapsort: the heap's root is its last one. by_name: `first` is the hash of the name. */
static void sort_places(const struct modc_reader *reader, struct modc_place *places, size_t count,
                        bool by_name)
{
    size_t start = count / 2, end = count;

    while (end > 1) {
        struct modc_place moved;
        size_t hole, child;

        if (start > 0) { /* makes the heap */
            hole = --start;
            moved = places[hole];
        } else { /* the root to where the heap ends */
            hole = 0;
            moved = places[--end];
            places[end] = places[0];
        }
        while ((child = 2 * hole + 1) < end) {
            child += child + 1 < end && indexed_less(reader, &places[child], &places[child + 1], by_name);
            if (!indexed_less(reader, &moved, &places[child], by_name))
                break;
            places[hole] = places[child];
            hole = child;
        }
        places[hole] = moved;
    }
}

/* All names in order, if there is memory for them. */
static void make_index(struct modc_reader *reader, struct modc_place *places)
{
    struct entry entry;
    size_t count = 0;

    for (size_t at = 0; next_entry(reader, &at, &entry); count++)
        places[count] = (struct modc_place){slice_hash(entry.name), 0, entry.at};
    sort_places(reader, places, count, true);
    reader->index = places;
    reader->indexed = count;
    for (size_t i = 1; i < count && !reader->duplicates; i++)
        reader->duplicates = places[i].first == places[i - 1].first &&
                             compare_slices(name_at(reader, places[i].at),
                                            name_at(reader, places[i - 1].at)) == 0;
}

/* Whether the names stand there in a few runs, each in order, and none twice: as files are written, with a run for each dtype.
 * False where it is not known. */
static bool runs_without_duplicates(const struct modc_reader *reader)
{
    enum { RUNS = MODC_SMALL ? 8 : 32 };
    struct run {
        struct slice name;
        size_t at, end; /* behind the name's entry, and behind the last one */
    } runs[RUNS];
    struct slice before = {NULL, 0, false};
    struct entry entry;
    int count = 0;

    for (size_t at = 0; next_entry(reader, &at, &entry); before = entry.name) {
        if (count == 0 || compare_slices(before, entry.name) >= 0) {
            if (count == RUNS)
                return false;
            runs[count++] = (struct run){entry.name, at, at};
        }
        runs[count - 1].end = at;
    }
    before.text = NULL;
    while (count > 0) {
        struct run *least = &runs[0];

        for (int i = 1; i < count; i++)
            if (compare_slices(runs[i].name, least->name) < 0)
                least = &runs[i];
        if (before.text != NULL && compare_slices(before, least->name) == 0)
            return false;
        before = least->name;
        if (least->at == least->end) {
            *least = runs[--count];
            continue;
        }
        if (!next_entry(reader, &least->at, &entry))
            return false; /* cannot be: it was read before */
        least->name = entry.name;
    }
    return true;
}

/* Equal names have equal hashes; hashes that are equal by chance only make the reader slower. */
static void find_equal_hashes(struct modc_reader *reader)
{
    struct modc_batch batch;

    modc_batch_start(&batch);
    for (size_t seen = 0; seen < reader->count && !reader->duplicates;) {
        size_t at = 0;
        struct entry entry;

        while (next_entry(reader, &at, &entry)) {
            struct modc_place place = {slice_hash(entry.name), 0, entry.at};

            modc_batch_offer(&batch, place);
        }
        for (int i = 0; i < batch.count; i++) {
            const struct modc_place *before = i > 0           ? &batch.places[i - 1]
                                              : batch.started ? &batch.last
                                                              : NULL;

            if (before != NULL && before->first == batch.places[i].first)
                reader->duplicates = true;
        }
        seen += (size_t)batch.count;
        modc_batch_next(&batch);
    }
}

static void find_duplicates(struct modc_reader *reader, struct modc_place *places)
{
    struct entry entry;
    size_t live = 0;

    if (places != NULL)
        make_index(reader, places);
    else if (!runs_without_duplicates(reader))
        find_equal_hashes(reader);
    if (!reader->duplicates)
        return;
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

/* The entry at a place, behind the one that ended at *end. */
static enum modc_format check_place(const struct modc_reader *reader, const struct modc_place *place,
                                    uint64_t *end, struct slice *name)
{
    struct entry entry;

    if (!entry_at(reader, place->at, &entry))
        return MODC_FORMAT_JSON;

    enum modc_format format = check_entry(&entry, *end);

    if (format != MODC_FORMAT_OK)
        *name = entry.name;
    *end = entry.end;
    return format;
}

static enum modc_format check_in_batches(const struct modc_reader *reader, uint64_t *end, struct slice *name)
{
    enum modc_format format = MODC_FORMAT_OK;
    struct modc_batch batch;

    modc_batch_start(&batch);
    for (size_t seen = 0; seen < reader->count;) {
        size_t at = 0;
        struct entry entry;

        while (next_entry(reader, &at, &entry)) {
            struct modc_place place = {entry.begin, entry.end, entry.at};

            modc_batch_offer(&batch, place);
        }
        for (int i = 0; i < batch.count && format == MODC_FORMAT_OK; i++)
            format = check_place(reader, &batch.places[i], end, name);
        if (format != MODC_FORMAT_OK)
            return format;
        seen += (size_t)batch.count;
        modc_batch_next(&batch);
    }
    return MODC_FORMAT_OK;
}

/* places: of as many as there are, or NULL. */
static enum modc_format check_sorted(const struct modc_reader *reader, struct modc_place *places,
                                     uint64_t *end, struct slice *name)
{
    enum modc_format format = MODC_FORMAT_OK;
    struct entry entry;
    size_t count = 0;

    *end = 0;
    if (places == NULL)
        return check_in_batches(reader, end, name);
    for (size_t at = 0; next_entry(reader, &at, &entry); count++)
        places[count] = (struct modc_place){entry.begin, entry.end, entry.at};
    sort_places(reader, places, count, false);
    for (size_t i = 0; i < count && format == MODC_FORMAT_OK; i++)
        format = check_place(reader, &places[i], end, name);
    return format;
}

/* memory: for so many places, twice over. */
static enum modc_format check_file(struct modc_reader *reader, struct modc_place *memory, size_t room,
                                   size_t *at, struct slice *name)
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
    if (reader->count > room / 2)
        memory = NULL;

    struct modc_place *other = memory != NULL ? memory + reader->count
                                              : NULL; /* the count of live ones is no larger */

    find_duplicates(reader, memory);
    if (!check_as_listed(reader, &end)) {
        format = check_sorted(reader, other, &end, name);
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

/* A zip, or a pickle of protocol 2 and later. Both are lengths of headers too, if not probable ones. */
static bool is_pickle(const unsigned char *bytes, size_t length)
{
    return length >= 8 && ((bytes[0] == 'P' && bytes[1] == 'K' && bytes[2] == 3 && bytes[3] == 4) ||
                           (bytes[0] == 0x80 && bytes[1] >= 2 && bytes[1] <= 5 && bytes[7] != 0));
}

/* What the first 8 bytes say, as far as it is there. */
static size_t header_length(const unsigned char *bytes, size_t length)
{
    uint64_t header = 0;

    for (size_t i = 8; i-- > 0 && length >= 8;)
        header = header << 8 | bytes[i];
    return header < length ? (size_t)header : length;
}

size_t modc_reader_index_bytes(const void *bytes, size_t length)
{
    static const char shortest[] = "'':{'dtype':'U8','shape':[],'data_offsets':[0,0]}";
    const size_t most = header_length(bytes, length) / (sizeof shortest - 1) + 1;

    return 2 * most * sizeof(struct modc_place);
}

enum modc_status modc_reader_open_indexed(struct modc_reader *reader, const void *bytes, size_t length,
                                          void *memory, size_t memory_bytes, struct modc_report *report)
{
    size_t at = 0, room = memory != NULL ? memory_bytes / sizeof(struct modc_place) : 0;
    struct slice name = {NULL, 0, false};

    memset(reader, 0, sizeof *reader);
    reader->bytes = bytes;
    reader->length = bytes != NULL ? length : 0;

    enum modc_format format = check_file(reader, memory, room, &at, &name);

    if (format != MODC_FORMAT_OK && is_pickle(reader->bytes, reader->length)) {
        format = MODC_FORMAT_PICKLE;
        name.length = 0;
    }
    if (report != NULL) {
        report->format = format;
        report->format_at = format == MODC_FORMAT_UTF8 || format == MODC_FORMAT_JSON ? 8 + at : 0;
        slice_text(name, report->name, sizeof report->name);
    }
    return format == MODC_FORMAT_OK ? MODC_OK : MODC_FORMAT;
}

enum modc_status modc_reader_open(struct modc_reader *reader, const void *bytes, size_t length,
                                  struct modc_report *report)
{
    return modc_reader_open_indexed(reader, bytes, length, NULL, 0, report);
}

static bool is_marked(const struct modc_reader *reader, struct slice name)
{
    struct slice all = {reader->marked, reader->marked_length, false};
    struct decoder marked = decode(all);
    int a, b;

    if (reader->marked == NULL)
        return false;
    for (;;) {
        struct decoder own = decode(name);

        do {
            a = next_byte(&marked);
            b = next_byte(&own);
        } while (a == b && a >= 0);
        if (b < 0 && (a < 0 || a == '\n'))
            return true;
        while (a >= 0 && a != '\n')
            a = next_byte(&marked);
        if (a < 0)
            return false;
    }
}

static void fill_item(const struct modc_reader *reader, const struct entry *entry, struct modc_item *item)
{
    item->name = (const char *)entry->name.text;
    item->name_length = entry->name.length;
    item->dtype_name = entry->dtype->name;
    item->dtype = entry->dtype->dtype;
    item->ndim = entry->ndim;
    for (int i = 0; i < MODC_MAX_DIMS; i++)
        item->dims[i] = i < entry->ndim ? entry->dims[i] : 0;
    item->data = reader->bytes + reader->data + (size_t)entry->begin;
    item->bytes = (size_t)(entry->end - entry->begin);
    if (item->dtype == MODC_FLOAT64 && item->ndim > 0 && item->ndim <= MODC_MAX_DIMS &&
        item->dims[item->ndim - 1] == 2 && is_marked(reader, entry->name)) {
        item->dtype = MODC_COMPLEX128;
        item->dtype_name = "C128";
        item->dims[--item->ndim] = 0;
    }
}

bool modc_reader_next(const struct modc_reader *reader, size_t *at, struct modc_item *item)
{
    struct entry entry;

    if (!next_entry(reader, at, &entry))
        return false;
    fill_item(reader, &entry, item);
    return true;
}

static struct slice item_slice(const struct modc_item *item)
{
    struct slice slice = {(const unsigned char *)item->name, item->name_length, false};

    return slice;
}

bool modc_item_is_joined(const struct modc_item *item, const char *name, const char *suffix)
{
    return compare_decoded(decode(item_slice(item)), decode_joined(name, suffix)) == 0;
}

bool modc_item_is(const struct modc_item *item, const char *name)
{
    return modc_item_is_joined(item, name, NULL);
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

static bool find_by_index(const struct modc_reader *reader, struct decoder name, struct modc_item *item)
{
    const struct modc_place *place = find_indexed(reader, name);
    struct entry entry;

    if (place == NULL || !entry_at(reader, place->at, &entry))
        return false;
    fill_item(reader, &entry, item);
    return true;
}

bool modc_reader_find_joined(const struct modc_reader *reader, const char *name, const char *suffix,
                             struct modc_item *item)
{
    if (reader->index != NULL)
        return find_by_index(reader, decode_joined(name, suffix), item);
    for (size_t at = 0; modc_reader_next(reader, &at, item);) {
        if (modc_item_is_joined(item, name, suffix))
            return true;
    }
    return false;
}

bool modc_reader_find(const struct modc_reader *reader, const char *name, struct modc_item *item)
{
    return modc_reader_find_joined(reader, name, NULL, item);
}

size_t modc_reader_stored(const struct modc_reader *reader, const char *name, char *out, size_t capacity)
{
    struct slice all = {reader->stored, reader->stored_length, false};
    struct decoder line = decode(all);
    size_t length = 0;
    int a, b;

    if (reader->stored == NULL)
        return 0;
    for (;;) {
        struct decoder own = decode_joined(name, ": ");

        do {
            a = next_byte(&line);
            b = next_byte(&own);
        } while (a == b && a >= 0);
        if (b < 0)
            break;
        while (a >= 0 && a != '\n')
            a = next_byte(&line);
        if (a < 0)
            return 0;
    }
    for (; a >= 0 && a != '\n'; a = next_byte(&line), length++) {
        if (length + 1 < capacity)
            out[length] = (char)a;
    }
    if (capacity > 0)
        out[length < capacity ? length : capacity - 1] = '\0';
    return length;
}
