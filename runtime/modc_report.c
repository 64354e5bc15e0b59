/* modc_report.c - the report of a load: what hooks change of it, and its text, which is PyTorch's. Apart from modc_state.c, which fills
 * it. */
#include "modc_integers.h"

void modc_report_forget_missing(struct modc_report *report, int key)
{
    if (key < 0 || key >= MODC_REPORT_KEYS || (report->missing[key / 8] >> key % 8 & 1) == 0)
        return;
    report->missing[key / 8] = (unsigned char)(report->missing[key / 8] & ~(1u << key % 8));
    report->missing_count--;
}

void modc_report_forget_unexpected(struct modc_report *report)
{
    report->unexpected_count = 0;
    report->unexpected_held = 0;
    report->text_length = 0;
}

static size_t text_length(const char *text)
{
    const char *end = text;

    while (*end != '\0')
        end++;
    return (size_t)(end - text);
}

void modc_print_text(const struct modc_printer *printer, const char *text)
{
    size_t length = text_length(text);

    if (length > 0)
        printer->write(printer->user, text, length);
}

static void print_number(const struct modc_printer *printer, uint64_t number)
{
    char digits[24];
    int i = (int)sizeof digits - 1;

    digits[i] = '\0';
    do {
        digits[--i] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    modc_print_text(printer, digits + i);
}

/* torch.Size([2, 3]) */
void modc_print_size(const struct modc_printer *printer, int ndim, const uint64_t *dims)
{
    modc_print_text(printer, "torch.Size([");
    for (int i = 0; i < ndim; i++) {
        if (i > 0)
            modc_print_text(printer, ", ");
        if (i == MODC_MAX_DIMS) {
            modc_print_text(printer, "...");
            break;
        }
        print_number(printer, dims[i]);
    }
    modc_print_text(printer, "])");
}

static void print_left_out(const struct modc_printer *printer, int printed, int count)
{
    if (printed >= count)
        return;
    modc_print_text(printer, printed > 0 ? ", ... (" : "... (");
    print_number(printer, (uint64_t)(count - printed));
    modc_print_text(printer, " more)");
}

static void print_missing(const struct modc_printer *printer, const struct modc_report *report,
                          const char *quote)
{
    int printed = 0;

    for (int i = 0; i < MODC_REPORT_KEYS && i < report->model->key_count; i++) {
        if ((report->missing[i / 8] >> i % 8 & 1) == 0)
            continue;
        modc_print_text(printer, printed++ > 0 ? ", " : "");
        modc_print_text(printer, quote);
        modc_print_text(printer, report->model->keys[i].name);
        modc_print_text(printer, quote);
    }
    print_left_out(printer, printed, report->missing_count);
}

static void print_unexpected(const struct modc_printer *printer, const struct modc_report *report,
                             const char *quote)
{
    const char *name = report->text;

    for (int i = 0; i < report->unexpected_held; i++) {
        modc_print_text(printer, i > 0 ? ", " : "");
        modc_print_text(printer, quote);
        modc_print_text(printer, name);
        modc_print_text(printer, quote);
        name += text_length(name) + 1;
    }
    print_left_out(printer, report->unexpected_held, report->unexpected_count);
}

/* PyTorch's name for a type of the file, or the file's own. */
static void print_dtype(const struct modc_printer *printer, const char *file_name)
{
    static const char names[][2][16] = {
        {"BOOL", "torch.bool"},   {"U8", "torch.uint8"},      {"I8", "torch.int8"},
        {"I16", "torch.int16"},   {"I32", "torch.int32"},     {"I64", "torch.int64"},
        {"F16", "torch.float16"}, {"BF16", "torch.bfloat16"}, {"F32", "torch.float32"},
        {"F64", "torch.float64"}, {"C64", "torch.complex64"}, {"C128", "torch.complex128"},
        {"U16", "torch.uint16"},  {"U32", "torch.uint32"},    {"U64", "torch.uint64"},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        size_t k = 0;

        while (names[i][0][k] != '\0' && names[i][0][k] == file_name[k])
            k++;
        if (names[i][0][k] == file_name[k]) {
            modc_print_text(printer, names[i][1]);
            return;
        }
    }
    modc_print_text(printer, file_name);
}

static void print_fault(const struct modc_printer *printer, const struct modc_report *report,
                        const struct modc_fault *fault)
{
    const struct modc_key *key = &report->model->keys[fault->key];
    uint64_t dims[MODC_MAX_DIMS];
    int rank;

    switch (fault->kind) {
    case MODC_FAULT_SHAPE:
        for (int i = 0; i < key->ndim; i++)
            dims[i] = (uint64_t)key->dims[i];
        modc_print_text(printer, "size mismatch for ");
        modc_print_text(printer, key->name);
        modc_print_text(printer, ": copying a param with shape ");
        modc_print_size(printer, fault->found_ndim, fault->found_dims);
        modc_print_text(printer, " from checkpoint, the shape in current model is ");
        modc_print_size(printer, key->ndim, dims);
        modc_print_text(printer, ".");
        break;
    case MODC_FAULT_DTYPE:
        modc_print_text(printer, "dtype mismatch for ");
        modc_print_text(printer, key->name);
        modc_print_text(printer, ": copying a param with dtype ");
        print_dtype(printer, fault->found_dtype);
        modc_print_text(printer, " from checkpoint, the dtype in current model is ");
        print_dtype(printer, key->dtype == MODC_COMPLEX128 ? "C128" : modc_file_dtype(key->dtype, &rank));
        modc_print_text(printer, ".");
        break;
    case MODC_FAULT_TIE:
        modc_print_text(printer, "tied parameters differ: ");
        modc_print_text(printer, key->name);
        modc_print_text(printer, " and ");
        modc_print_text(printer, report->model->keys[fault->other].name);
        modc_print_text(printer, " are one tensor in current model, but have two values in checkpoint.");
        break;
    case MODC_FAULT_ALIGNMENT:
        modc_print_text(printer, "misaligned data for ");
        modc_print_text(printer, key->name);
        modc_print_text(printer, ": assigning needs its bytes to start at a multiple of their element size.");
        break;
    case MODC_FAULT_INTEGERS:
        modc_integer_code_of(report->model)->print(printer, report, fault);
        break;
    }
}

static void print_format(const struct modc_printer *printer, const struct modc_report *report)
{
    static const char *const texts[] = {
        [MODC_FORMAT_OK] = "ok",
        [MODC_FORMAT_HEADER_TOO_SMALL] = "header too small",
        [MODC_FORMAT_HEADER_TOO_LARGE] = "header too large",
        [MODC_FORMAT_HEADER_LENGTH] = "invalid header length",
        [MODC_FORMAT_UTF8] = "invalid UTF-8 in header",
        [MODC_FORMAT_JSON] = "invalid JSON in header",
        [MODC_FORMAT_OFFSET] = "invalid offset for tensor `",
        [MODC_FORMAT_OVERFLOW] = "overflow computing buffer size from shape and/or element type",
        [MODC_FORMAT_SUBBYTE] =
            ("The slice is slicing for subbytes dtypes, and the slice does not end up at a byte "
             "boundary, this is invalid."),
        [MODC_FORMAT_INFO] = "invalid shape, data type, or offset for tensor",
        [MODC_FORMAT_INCOMPLETE] = "incomplete metadata, file not fully covered",
        [MODC_FORMAT_PICKLE] = "this is a zip or a pickle, as torch.save writes them, not safetensors",
    };

    modc_print_text(printer, "Error while deserializing header: ");
    modc_print_text(printer, texts[report->format]);
    if (report->format == MODC_FORMAT_OFFSET) {
        modc_print_text(printer, report->name);
        modc_print_text(printer, "`");
    }
    if (report->format_at > 0) {
        modc_print_text(printer, ": at byte ");
        print_number(printer, report->format_at);
    }
}

static void print_errors(const struct modc_printer *printer, const struct modc_report *report)
{
    int held = report->fault_count < MODC_REPORT_FAULTS ? report->fault_count : MODC_REPORT_FAULTS;

    modc_print_text(printer, "Error(s) in loading state_dict for ");
    modc_print_text(printer, report->model->modules[0].class_name);
    modc_print_text(printer, ":");
    if (report->strict && report->missing_count > 0) {
        modc_print_text(printer, "\n\tMissing key(s) in state_dict: ");
        print_missing(printer, report, "\"");
        modc_print_text(printer, ". ");
    }
    if (report->strict && report->unexpected_count > 0) {
        modc_print_text(printer, "\n\tUnexpected key(s) in state_dict: ");
        print_unexpected(printer, report, "\"");
        modc_print_text(printer, ". ");
    }
    for (int i = 0; i < held; i++) {
        modc_print_text(printer, "\n\t");
        print_fault(printer, report, &report->faults[i]);
    }
    if (held < report->fault_count) {
        modc_print_text(printer, "\n\t");
        print_left_out(printer, 0, report->fault_count - held);
    }
}

void modc_report_print(const struct modc_report *report,
                       void (*write)(void *user, const char *text, size_t length), void *user)
{
    struct modc_printer printer = {write, user};

    if (report->status == MODC_FORMAT) {
        print_format(&printer, report);
    } else if (report->status == MODC_KEYS && report->model != NULL) {
        print_errors(&printer, report);
    } else if (report->status != MODC_OK) {
        modc_print_text(&printer, modc_status_text(report->status));
    } else if (report->missing_count == 0 && report->unexpected_count == 0) {
        modc_print_text(&printer, "<All keys matched successfully>");
    } else {
        modc_print_text(&printer, "_IncompatibleKeys(missing_keys=[");
        print_missing(&printer, report, "'");
        modc_print_text(&printer, "], unexpected_keys=[");
        print_unexpected(&printer, report, "'");
        modc_print_text(&printer, "])");
    }
}
