/* tensor_file.c - safetensors files that a spec or the command line names; see tensor_file.h. */
#include "base/tensor_file.h"

#include "modc.h"

#include <errno.h>
#include <string.h>

#include "base/text.h"

static void add_to_text(void *user, const char *text, size_t length)
{
    text_add_bytes(user, text, length);
}

void tensor_file_say(struct cx *cx, struct loc loc, const char *path, const struct modc_report *report)
{
    struct text text = text_new(&cx->arena);
    bool first = true;

    modc_report_print(report, add_to_text, &text);
    for (char *line = text.data; line; first = false) {
        char *end = strchr(line, '\n');

        if (end)
            *end++ = 0;
        for (size_t length = strlen(line); length > 0 && line[length - 1] == ' '; length--)
            line[length - 1] = 0;
        if (first)
            diag_error(cx, loc, "%s: %s", path, line);
        else
            diag_note(cx, loc, "%s", line + strspn(line, "\t"));
        line = end;
    }
    if (report->status == MODC_FORMAT && report->format == MODC_FORMAT_PICKLE)
        diag_hint(cx, "python -m modc convert '%s' FILE.safetensors converts it", path);
    else if (report->status == MODC_FORMAT && report->format == MODC_FORMAT_HEADER_TOO_LARGE)
        diag_hint(cx,
                  "python -m modc convert '%s' FILE.safetensors says what it is, and converts it if it can",
                  path);
    else if (report->status == MODC_FORMAT)
        diag_hint(cx, "safetensors.torch.save_file(model.state_dict(), FILE) writes one in PyTorch");
}

void tensor_file_unreadable(struct cx *cx, struct loc loc, const char *path)
{
    diag_error(cx, loc, "cannot read '%s': %s", path, errno == EINVAL ? "it is not a file" : strerror(errno));
    source_hint_pipe(cx, path);
}

bool tensor_file_open(struct cx *cx, struct loc loc, const char *path, struct modc_reader *reader)
{
    struct modc_report *report = ARENA_NEW(&cx->arena, struct modc_report);
    const void *bytes;
    size_t length;

    source_depend(cx, path);
    errno = 0;
    cx->unreadable = true;
    if (modc_map(path, &bytes, &length) != MODC_OK) {
        tensor_file_unreadable(cx, loc, path);
        return false;
    }
    report->status = modc_reader_open(reader, bytes, length, report);
    if (report->status != MODC_OK) {
        tensor_file_say(cx, loc, path, report);
        modc_unmap(bytes, length);
        return false;
    }
    cx->unreadable = false;
    return true;
}
