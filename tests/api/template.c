/* template.c - what a chat template's function says of its arguments (tests/specs/template.yaml). That texts are right,
 * tests/support/chats.py looks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "talker.h"

enum { ROOM = 256 };

static const struct modc_turn turns[] = {
    {.role = {"system", 6}, .content = {" Be brief. ", 11}},
    {.role = {"user", 4}, .content = {"Why?", 4}},
    {.role = {"assistant", 9}, .content = {"<think>x</think>\nSo.", 20}},
    {.role = {"assistant", 9}, .content = {"", 0}, .reasoning_content = {"y", 1}},
};
static const char text[] =
    "<|system|>\nBe brief.\n<|end|>\n<|user|>\nWhy?<|end|>\n<|assistant|>\nSo.<|end|>\n";
static char workspace[ROOM];

static void test_arguments(void)
{
    char out[ROOM];
    size_t bytes;
    struct modc_turn broken[2] = {turns[1], turns[1]};
    struct modc_chat chat = {.workspace = workspace, .workspace_bytes = sizeof workspace};

    CHECK(talker_chat(turns, 3, &chat, out, sizeof out, &bytes) == MODC_OK);
    CHECK(bytes == sizeof text - 1 && memcmp(out, text, sizeof text) == 0);
    CHECK(chat.span_count == 1 && chat.workspace_needed > 0);
    CHECK(talker_chat(turns, 3, &chat, out, sizeof text - 1, &bytes) == MODC_OK);
    CHECK(talker_chat(turns, 3, &chat, out, 5, &bytes) == MODC_SIZE && bytes == sizeof text - 1);
    CHECK(talker_chat(turns, 3, &chat, NULL, 0, &bytes) == MODC_SIZE && bytes == sizeof text - 1);
    CHECK(talker_chat(turns, 3, &chat, NULL, 5, &bytes) == MODC_POINTER && bytes == 0);
    CHECK(talker_chat(turns, 3, &chat, out, sizeof out, NULL) == MODC_POINTER);
    CHECK(talker_chat(NULL, 3, &chat, out, sizeof out, &bytes) == MODC_POINTER);
    CHECK(talker_chat(turns, 0, &chat, out, sizeof out, &bytes) == MODC_ARGUMENT && bytes == 0);
    CHECK(talker_chat(turns + 1, 1, NULL, out, sizeof out, &bytes) == MODC_OK);
    CHECK(talker_chat(turns, 1, NULL, out, sizeof out, &bytes) == MODC_WORKSPACE && bytes == 0);
    broken[1].content.data = NULL;
    CHECK(talker_chat(broken, 2, &chat, out, sizeof out, &bytes) == MODC_POINTER);
    broken[1] = turns[1];
    broken[1].role = (struct modc_text){"nobody", 6};
    CHECK(talker_chat(broken, 2, &chat, out, sizeof out, &bytes) == MODC_ARGUMENT);
    CHECK(modc_ends_with(chat.refusal, MODC_TEXT("not of nobody")));
}

static void test_spans(void)
{
    char out[ROOM];
    size_t bytes;
    struct modc_span spans[2] = {{0, 0}, {7, 7}};
    struct modc_chat chat = {
        .workspace = workspace, .workspace_bytes = sizeof workspace, .spans = spans, .span_room = 1};

    CHECK(talker_chat(turns, 4, &chat, out, sizeof out, &bytes) == MODC_OK);
    CHECK(chat.span_count == 2 && spans[1].start == 7);
    CHECK(spans[0].end - spans[0].start == 10 && memcmp(out + spans[0].start, "So.<|end|>", 10) == 0);
    chat.spans = NULL;
    CHECK(talker_chat(turns, 4, &chat, out, sizeof out, &bytes) == MODC_POINTER);
}

static void test_continuing(void)
{
    char out[ROOM];
    size_t bytes;
    struct modc_span span;
    struct modc_chat chat = {
        .workspace = workspace, .workspace_bytes = sizeof workspace, .continue_final_message = true};

    CHECK(talker_chat(turns, 2, &chat, out, sizeof out, &bytes) == MODC_OK);
    CHECK(bytes > 4 && strcmp(out + bytes - 4, "Why?") == 0);
    CHECK(talker_chat(turns, 3, &chat, out, sizeof out, &bytes) == MODC_ARGUMENT);
    chat.add_generation_prompt = true;
    CHECK(talker_chat(turns, 2, &chat, out, sizeof out, &bytes) == MODC_ARGUMENT);
    chat.add_generation_prompt = false;
    chat.spans = &span;
    CHECK(talker_chat(turns, 2, &chat, out, sizeof out, &bytes) == MODC_ARGUMENT);
    chat.spans = NULL;
    chat.workspace = NULL;
    CHECK(talker_chat(turns + 1, 1, &chat, out, sizeof out, &bytes) == MODC_WORKSPACE);
    CHECK(chat.workspace_needed > 4);
}

/* What a template makes of the time that a call says. */
static enum modc_status date(const struct modc_date *now, struct modc_text format, char *out,
                             struct modc_text *refusal)
{
    struct modc_chat chat = {.now = now};
    struct modc_prompt prompt;
    enum modc_status status;
    size_t bytes;

    CHECK(modc_prompt_begin(&prompt, turns, 1, &chat, out, ROOM) == MODC_OK);
    modc_put_dated(&prompt, format);
    status = modc_prompt_end(&prompt, &bytes);
    *refusal = chat.refusal;
    return status;
}

static void test_dates(void)
{
    static const struct modc_date wrong[] = {
        {999, 1, 1, 0, 0, 0},   {10000, 1, 1, 0, 0, 0}, {2026, 0, 1, 0, 0, 0},  {2026, 13, 1, 0, 0, 0},
        {2026, 1, 0, 0, 0, 0},  {2026, 1, 32, 0, 0, 0}, {2026, 2, 29, 0, 0, 0}, {1900, 2, 29, 0, 0, 0},
        {2026, 1, 1, 24, 0, 0}, {2026, 1, 1, 0, 60, 0}, {2026, 1, 1, 0, 0, 61}, {2026, 1, 1, 0, 0, -1}};
    const struct modc_date leap = {2000, 2, 29, 0, 5, 60}, last = {2024, 12, 31, 12, 0, 0};
    struct modc_text refusal;
    struct modc_prompt prompt;
    char out[ROOM];
    size_t bytes;

    CHECK_OK(date(&leap, MODC_TEXT("%a %j %I:%M:%S %p"), out, &refusal));
    CHECK(strcmp(out, "Tue 060 12:05:60 AM") == 0);
    CHECK_OK(date(&last, MODC_TEXT("%A %j %-I%p"), out, &refusal));
    CHECK(strcmp(out, "Tuesday 366 12PM") == 0);
    CHECK(date(NULL, MODC_TEXT("%d"), out, &refusal) == MODC_ARGUMENT &&
          modc_contains(refusal, MODC_TEXT("asks for the time")));
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        CHECK(date(&wrong[i], MODC_TEXT("%d"), out, &refusal) == MODC_ARGUMENT &&
              modc_contains(refusal, MODC_TEXT("no date")));
    CHECK(modc_prompt_begin(&prompt, turns, 1, NULL, out, ROOM) == MODC_OK);
    modc_put_dated(&prompt, MODC_TEXT("%d"));
    CHECK(modc_prompt_end(&prompt, &bytes) == MODC_ARGUMENT);
}

int main(void)
{
    test_dates();
    test_arguments();
    test_spans();
    test_continuing();
    return 0;
}
