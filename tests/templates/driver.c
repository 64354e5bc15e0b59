/* driver.c - chat templates that modc compiled over turns of standard input, for tests/support/chats.py. A case is a line of
 * numbers - which template, add_generation_prompt, continue_final_message, spans, what time it is (six, 0: there is no clock), turns -
 * and for each turn four texts: the length, a space, the bytes; -1: there is none. Prints status, text in hexadecimal, spans, and why a case was refused, a line each. Each
 * is run with less room and less workspace, too, in blocks of their own size: a sanitizer sees what goes beyond. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "chats.h"

typedef enum modc_status chat_function(const struct modc_turn *turns, int count, struct modc_chat *chat,
                                       char *out, size_t room, size_t *bytes);

#define ROW(name) name##_chat,
static chat_function *const functions[] = {CHATS(ROW)};

enum { MOST_SPANS = 4096, MOST_WORKSPACE = 1 << 20 };

static void check(int holds, const char *what)
{
    if (holds)
        return;
    fprintf(stderr, "it does not hold that %s\n", what);
    exit(1);
}

static int read_number(void)
{
    int number;

    check(scanf("%d", &number) == 1 && getchar() != EOF, "a number follows");
    return number;
}

static struct modc_text read_text(void)
{
    const int bytes = read_number();
    char *data = bytes < 0 ? NULL : malloc(bytes > 0 ? (size_t)bytes : 1);

    check(bytes < 0 || (data && fread(data, 1, (size_t)bytes, stdin) == (size_t)bytes), "a text is there");
    return (struct modc_text){data, bytes < 0 ? 0 : (size_t)bytes};
}

static void free_text(struct modc_text text)
{
    free((void *)(size_t)text.data);
}

static void print_hex(const char *text, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++)
        printf("%02x", (unsigned char)text[i]);
    printf("\n");
}

/* The same call with room for so many bytes: the length is the same, and no byte is written behind them. */
static void try_room(chat_function *function, const struct modc_turn *turns, int count,
                     struct modc_chat *chat, const char *text, size_t bytes, size_t room)
{
    char *out = malloc(room > 0 ? room : 1);
    size_t length;
    const enum modc_status status = function(turns, count, chat, room > 0 ? out : NULL, room, &length);

    check(status == (bytes > room ? MODC_SIZE : MODC_OK) && length == bytes, "a text has one length");
    check(memcmp(out, text, bytes < room ? bytes : room) == 0, "what has room is there");
    check(bytes >= room || out[bytes] == '\0', "a 0 stands behind it");
    free(out);
}

/* With the workspace that was said to be needed until it does; with one byte less it does not. */
static void try_workspace(chat_function *function, const struct modc_turn *turns, int count,
                          const struct modc_chat *asked, size_t bytes)
{
    struct modc_chat chat = *asked;
    size_t length, needed;
    enum modc_status status;

    chat.workspace = NULL;
    chat.workspace_bytes = 0;
    while ((status = function(turns, count, &chat, NULL, 0, &length)) == MODC_WORKSPACE) {
        check(length == 0 && chat.workspace_needed > chat.workspace_bytes, "more is needed");
        free(chat.workspace);
        chat.workspace_bytes = chat.workspace_needed;
        chat.workspace = malloc(chat.workspace_bytes);
    }
    needed = chat.workspace_needed;
    check(status == (bytes > 0 ? MODC_SIZE : MODC_OK) && length == bytes && needed == chat.workspace_bytes,
          "the workspace that is needed does");
    if (needed > 0) {
        chat.workspace_bytes--;
        check(function(turns, count, &chat, NULL, 0, &length) == MODC_WORKSPACE, "it needs no less");
    }
    free(chat.workspace);
}

static void run(chat_function *function, const struct modc_turn *turns, int count, struct modc_chat *chat)
{
    static char workspace[MOST_WORKSPACE];
    size_t bytes, again;
    enum modc_status status;
    char *text;

    chat->workspace = workspace;
    chat->workspace_bytes = sizeof workspace;
    status = function(turns, count, chat, NULL, 0, &bytes);
    text = malloc(bytes + 1);
    check(text != NULL, "there is memory");
    if (status == MODC_SIZE)
        status = function(turns, count, chat, text, bytes + 1, &again);
    else
        again = bytes;
    check(bytes == again, "a text has one length");
    printf("%d\n", (int)status);
    print_hex(text, bytes);
    for (int i = 0; i < chat->span_count && i < chat->span_room; i++)
        printf("%u %u ", (unsigned)chat->spans[i].start, (unsigned)chat->spans[i].end);
    printf("\n");
    print_hex(chat->refusal.data, chat->refusal.bytes);
    if (status == MODC_OK) {
        for (size_t part = 0; part < 4; part++)
            try_room(function, turns, count, chat, text, bytes, bytes * part / 3);
        try_workspace(function, turns, count, chat, bytes);
    }
    free(text);
}

int main(void)
{
    static struct modc_span spans[MOST_SPANS];
    int which;

    while (scanf("%d", &which) == 1) {
        struct modc_chat chat = {.add_generation_prompt = read_number()};
        struct modc_date now;
        int *const parts[] = {&now.year, &now.month, &now.day, &now.hour, &now.minute, &now.second};
        struct modc_turn *turns;
        int count;

        chat.continue_final_message = read_number();
        if (read_number())
            chat = (struct modc_chat){.add_generation_prompt = chat.add_generation_prompt,
                                      .continue_final_message = chat.continue_final_message,
                                      .spans = spans,
                                      .span_room = MOST_SPANS};
        for (int i = 0; i < 6; i++)
            *parts[i] = read_number();
        chat.now = now.year > 0 ? &now : NULL;
        count = read_number();
        turns = calloc((size_t)count + 1, sizeof *turns);
        check(turns != NULL, "there is memory");
        for (int i = 0; i < count; i++)
            turns[i] = (struct modc_turn){read_text(), read_text(), read_text(), read_text()};
        run(functions[which], turns, count, &chat);
        for (int i = 0; i < count; i++) {
            free_text(turns[i].role);
            free_text(turns[i].content);
            free_text(turns[i].name);
            free_text(turns[i].reasoning_content);
        }
        free(turns);
    }
    return 0;
}
