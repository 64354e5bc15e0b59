/* modc_template.h - turns of a conversation to the text that a model was trained on, by its chat template. Models without `template:`
 * do without it. Nothing here allocates, prints or keeps globals.
 *
 * Emitted code is the template as a function, NAME_chat, over the functions below. Texts are UTF-8 with their lengths; what is cut
 * out of one points into it, and what is made of several lies in the workspace. */
#ifndef MODC_RUNTIME_TEMPLATE_H
#define MODC_RUNTIME_TEMPLATE_H

#include "modc.h"
#include "modc_tokenizer.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- what callers use --------------------------------------------------------------------------------------- */

struct modc_text {
    const char *data;
    size_t bytes;
};

/* Of a literal: MODC_TEXT("user"). */
#define MODC_TEXT(literal) ((struct modc_text){literal, sizeof literal - 1})
#define MODC_NO_TEXT ((struct modc_text){NULL, 0})

/* What somebody says. role and content are there, though they may be empty; the others may be left out (data NULL). */
struct modc_turn {
    struct modc_text role, content, name, reasoning_content;
};

/* A day and a time of it, for templates that tell the date: day and month from 1, the year from 1000 to 9999. The caller's clock says it;
 * nothing here has one. */
struct modc_date {
    int year, month, day, hour, minute, second;
};

/* Of a struct tm of <time.h>: MODC_DATE_OF(localtime(&now)). */
#define MODC_DATE_OF(tm)                                                                                     \
    ((struct modc_date){(tm)->tm_year + 1900, (tm)->tm_mon + 1, (tm)->tm_mday, (tm)->tm_hour, (tm)->tm_min,  \
                        (tm)->tm_sec})

/* Beside the turns. NULL: all of it 0. */
struct modc_chat {
    bool add_generation_prompt;  /* ends with what the assistant's answer begins with */
    bool continue_final_message; /* ends inside of the last turn: the answer goes on with it */
    void *workspace; /* for texts that the template joins, and for continue_final_message; most do without */
    size_t workspace_bytes;
    struct modc_span
        *spans; /* what the assistant says, in bytes: of a template with {% generation %}; or NULL */
    int span_room;
    const struct modc_date *now; /* of a template that asks for it (strftime_now); NULL: it is refused */

    int span_count;          /* that there are, which may be more than have room */
    size_t workspace_needed; /* so far, also where it was too little */
    struct modc_text
        refusal; /* MODC_ARGUMENT: why, which may be the template's own words (raise_exception) */
};

/* NAME_chat(turns, count, chat, out, room, &bytes): the text. *bytes: its length, which is that of the whole one where not all
 * have room (MODC_SIZE); a 0 stands behind it where there is room. MODC_ARGUMENT: the template takes no such turns, see
 * chat->refusal; MODC_WORKSPACE: too little, see chat->workspace_needed, with which it gets further; MODC_POINTER: a role or content
 * is not there. Of other ends than MODC_OK and MODC_SIZE nobody has a text; *bytes is 0. */

/* ---- what emitted code calls -------------------------------------------------------------------------------------- */

/* A call. */
struct modc_prompt {
    char *out;
    size_t room, length;
    const struct modc_turn *turns;
    int count;
    bool add_generation_prompt, continues;
    enum modc_status status; /* the first thing that went wrong; what follows does no harm */
    struct modc_chat *chat;
    struct modc_text refusal;
    char *workspace;
    size_t workspace_bytes;
    size_t used, kept, needed; /* bytes of it: in front, behind, that were asked for at most */
    bool makes;                /* what is put goes into the workspace */
    size_t span_from;
    int spans;
    struct modc_turn final; /* continues: the last turn with a mark behind its content */
    size_t cut;             /* where the mark stands in the text */
    size_t solid,
        cut_solid; /* where the text ends without the space at its end; the same of what is in front of the mark */
    bool is_cut;
    bool is_whole;  /* the last turn's content stands in front of the mark */
    bool awaits;    /* the mark was the last thing that was put */
    bool is_spaced; /* the mark has its space behind it: nothing was trimmed */
};

/* Turns one after the other, or from the last to the first: step -1. */
struct modc_turn_list {
    const struct modc_turn *first;
    int count, step;
};

/* Other than MODC_OK: there is nothing to be done; the caller returns modc_prompt_end's. */
enum modc_status modc_prompt_begin(struct modc_prompt *p, const struct modc_turn *turns, int count,
                                   struct modc_chat *chat, char *out, size_t room);
enum modc_status modc_prompt_end(struct modc_prompt *p, size_t *bytes);

/* The template takes no such turns. Returns what modc_prompt_end does. */
enum modc_status modc_refuse(struct modc_prompt *p, struct modc_text why, size_t *bytes);

/* Python's messages[i]: from the end where i is negative. Where there is none the call fails, and an empty turn stands for it. */
const struct modc_turn *modc_turn_at(struct modc_prompt *p, struct modc_turn_list turns, int i);

/* The same of a neighbour in a loop: nothing is counted from the end. */
const struct modc_turn *modc_neighbour(struct modc_prompt *p, struct modc_turn_list turns, int i);

/* Whether there is one. */
bool modc_has_turn(struct modc_turn_list turns, int i);
bool modc_has_neighbour(struct modc_turn_list turns, int i);

/* Python's messages[from:until]; MODC_END: up to the end. */
enum { MODC_END = 0x7fffffff };
struct modc_turn_list modc_turns_slice(struct modc_turn_list turns, int from, int until);
struct modc_turn_list modc_turns_reversed(struct modc_turn_list turns);

/* A text that may be left out, where it is needed: else the call fails. */
struct modc_text modc_needed(struct modc_prompt *p, struct modc_text text, const char *name);

bool modc_same(struct modc_text a, struct modc_text b); /* both are there */
bool modc_contains(struct modc_text text, struct modc_text part);
bool modc_starts_with(struct modc_text text, struct modc_text start);
bool modc_ends_with(struct modc_text text, struct modc_text end);
int modc_characters(struct modc_text text);
int modc_modulo(int a, int b); /* as Python has it; b > 0 */

/* Python's strip, lstrip, rstrip: without space at the ends, as Unicode has it. */
struct modc_text modc_strip(struct modc_text text);
struct modc_text modc_strip_left(struct modc_text text);
struct modc_text modc_strip_right(struct modc_text text);

/* The same of the characters of a text. */
struct modc_text modc_strip_of(struct modc_text text, struct modc_text characters);
struct modc_text modc_strip_left_of(struct modc_text text, struct modc_text characters);
struct modc_text modc_strip_right_of(struct modc_text text, struct modc_text characters);

/* Python's text.split(separator)[i]. Where there is none the call fails. */
struct modc_text modc_split_part(struct modc_prompt *p, struct modc_text text, struct modc_text separator,
                                 int i);

/* What becomes part of the text. Other letters than those of ASCII make upper, lower, capitalized and title fail. */
void modc_put(struct modc_prompt *p, struct modc_text text);
void modc_put_digits(struct modc_prompt *p, int number);
void modc_put_json(struct modc_prompt *p, struct modc_text text);
void modc_put_upper(struct modc_prompt *p, struct modc_text text);
void modc_put_lower(struct modc_prompt *p, struct modc_text text);
void modc_put_capitalized(struct modc_prompt *p, struct modc_text text);
void modc_put_title(struct modc_prompt *p, struct modc_text text);       /* Python's */
void modc_put_title_words(struct modc_prompt *p, struct modc_text text); /* Jinja's */
void modc_put_replaced(struct modc_prompt *p, struct modc_text text, struct modc_text from,
                       struct modc_text to);

/* strftime of chat->now, in English: of the letters of MODC_DATE_LETTERS, of which numbers may have a '-' in front that takes their zeros
 * away. What else stands in the format is itself; the generator lets no other letters through. */
#define MODC_DATE_LETTERS "aAbBcCdDeFhHIjmMnprRStTuUwWxXyY%"
#define MODC_DATE_NUMBERS "CdeHIjmMSuUwWyY"
void modc_put_dated(struct modc_prompt *p, struct modc_text format);

/* The same as texts, which lie in the workspace: what was made behind p->used may go when p->used goes back. */
struct modc_text modc_join(struct modc_prompt *p, int count, const struct modc_text *texts);
#define MODC_JOIN(p, ...)                                                                                    \
    modc_join(p, (int)(sizeof((const struct modc_text[]){__VA_ARGS__}) / sizeof(struct modc_text)),          \
              (const struct modc_text[]){__VA_ARGS__})
struct modc_text modc_digits(struct modc_prompt *p, int number);
struct modc_text modc_json(struct modc_prompt *p, struct modc_text text);
struct modc_text modc_upper(struct modc_prompt *p, struct modc_text text);
struct modc_text modc_lower(struct modc_prompt *p, struct modc_text text);
struct modc_text modc_capitalized(struct modc_prompt *p, struct modc_text text);
struct modc_text modc_title(struct modc_prompt *p, struct modc_text text);
struct modc_text modc_title_words(struct modc_prompt *p, struct modc_text text);
struct modc_text modc_dated(struct modc_prompt *p, struct modc_text format);
struct modc_text modc_replaced(struct modc_prompt *p, struct modc_text text, struct modc_text from,
                               struct modc_text to);

/* A text that stays there until the call ends, in the place of an old one that is needed no longer. */
struct modc_text modc_keep(struct modc_prompt *p, struct modc_text old, struct modc_text text);

/* Around what the assistant says. */
void modc_span_begin(struct modc_prompt *p);
void modc_span_end(struct modc_prompt *p);

#ifdef __cplusplus
}
#endif
#endif
