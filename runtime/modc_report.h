/* modc_report.h - what a load found, and its text. A part of modc.h, which includes it. */
#ifndef MODC_REPORT_H
#define MODC_REPORT_H

#include "modc.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What a load found. A report belongs to the caller, needs no preparation and stays valid when the file's
 * bytes are gone. Beyond the limits above only the counts are complete, and a list ends in
 * "... (N more)". */
enum { MODC_REPORT_FAULTS = 20, MODC_REPORT_NAME = 64 };

/* The reader's checks, module-semantics 7.3. */
enum modc_format {
    MODC_FORMAT_OK,
    MODC_FORMAT_HEADER_TOO_SMALL,
    MODC_FORMAT_HEADER_TOO_LARGE,
    MODC_FORMAT_HEADER_LENGTH,
    MODC_FORMAT_UTF8,
    MODC_FORMAT_JSON,
    MODC_FORMAT_OFFSET,     /* a hole, an overlap, or end before begin, at the tensor report->name */
    MODC_FORMAT_OVERFLOW,   /* the shape's product does not fit 64 bits */
    MODC_FORMAT_SUBBYTE,    /* a tensor of 4- or 6-bit elements ends inside a byte */
    MODC_FORMAT_INFO,       /* shape, dtype and offsets disagree */
    MODC_FORMAT_INCOMPLETE, /* the tensors do not end where the file ends */
    MODC_FORMAT_PICKLE      /* it fails, and begins as what torch.save writes: a zip, or a pickle */
};

enum modc_fault_kind {
    MODC_FAULT_SHAPE,
    MODC_FAULT_DTYPE,
    MODC_FAULT_TIE,       /* key and key other are one tensor, and the file has two values */
    MODC_FAULT_ALIGNMENT, /* MODC_ASSIGN: the tensor does not start at a multiple of its element */
    MODC_FAULT_INTEGERS /* the file has integers with scales, which are not those of the key: `integers` says why */
};

enum modc_integers_fault {
    MODC_INTEGERS_GOOD,
    MODC_INTEGERS_STORAGE, /* held as `storage`, and the model has another for it */
    MODC_INTEGERS_APART,   /* products of the model have it by parts: struct modc_integers */
    MODC_INTEGERS_UNKNOWN, /* neither the file's metadata nor the model say how they were rounded */
    MODC_INTEGERS_TEXT,    /* the metadata say what is no storage */
    MODC_INTEGERS_MATRIX,  /* the key is no matrix */
    MODC_INTEGERS_WHOLE, /* type or shape of the integers is not that of `storage`: found_dtype, found_dims */
    MODC_INTEGERS_LONE,  /* there are no scales */
    MODC_INTEGERS_SCALES, /* type or shape of the scales is not that of `storage`: found_dtype, found_dims */
    MODC_INTEGERS_NUMBER  /* a scale, or a number that they stand for, is not finite */
};

struct modc_fault {
    enum modc_fault_kind kind;
    int key, other;
    enum modc_integers_fault integers;
    struct modc_storage storage; /* INTEGERS: as what the file has it, where that is known */
    const char *found_dtype;     /* the file's name for it: "F32" */
    int found_ndim;              /* may be over MODC_MAX_DIMS; found_dims has the first ones */
    uint64_t found_dims[MODC_MAX_DIMS];
};

struct modc_report {
    const struct modc_model *model;
    enum modc_status status;
    bool strict;
    enum modc_format format;
    size_t format_at;                                 /* byte of the file, for MODC_FORMAT_JSON and _UTF8 */
    char name[MODC_REPORT_NAME];                      /* its tensor, cut where it is longer */
    int fault_count, missing_count, unexpected_count; /* all of them */
    int unexpected_held;                              /* names in text */
    size_t text_length;
    struct modc_fault faults[MODC_REPORT_FAULTS]; /* the first ones, in state_dict order */
    unsigned char missing[MODC_REPORT_KEYS / 8];  /* bit k % 8 of byte k / 8: key k */
    char text[MODC_REPORT_TEXT];                  /* unexpected names, each ended by a 0 byte */
};

/* Writers get the text piece by piece, never with length 0.
 *
 * PyTorch's text, without a newline at the end: "Error(s) in loading state_dict for ...", or, where the load
 * went through, "<All keys matched successfully>" or "_IncompatibleKeys(missing_keys=[...], ...)". */
void modc_report_print(const struct modc_report *report,
                       void (*write)(void *user, const char *text, size_t length), void *user);

/* For load post-hooks: takes a key off the list of missing ones, or all unexpected names off theirs. */
void modc_report_forget_missing(struct modc_report *report, int key);
void modc_report_forget_unexpected(struct modc_report *report);

#ifdef __cplusplus
}
#endif
#endif
