/* lines.c - mutations for targets that read specs: of lines and words, since most changes of single bytes give nothing
 * but a faulty line. Half of the time libFuzzer's own, with its dictionary. Linked with libFuzzer alone. */
#include "fuzz.h"

#include <ctype.h>
#include <stdbool.h>

size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t most, unsigned seed);

struct part {
    size_t begin, end;
};

static unsigned draw(unsigned *state, size_t below)
{
    *state = *state * 1103515245u + 12345u;
    return below > 0 ? (unsigned)((*state >> 8) % below) : 0;
}

/* One to three lines, with their ends. */
static struct part some_lines(const uint8_t *data, size_t size, unsigned *state)
{
    struct part part = {draw(state, size + 1), 0};

    while (part.begin > 0 && data[part.begin - 1] != '\n')
        part.begin--;
    part.end = part.begin;
    for (unsigned lines = 1 + draw(state, 3); lines > 0 && part.end < size; lines--) {
        while (part.end < size && data[part.end] != '\n')
            part.end++;
        part.end += part.end < size;
    }
    return part;
}

static bool in_word(uint8_t c)
{
    return isalnum(c) || c == '_';
}

/* A name or a number; empty where there is none near. */
static struct part some_word(const uint8_t *data, size_t size, unsigned *state)
{
    struct part part = {draw(state, size + 1), 0};

    while (part.begin < size && !in_word(data[part.begin]))
        part.begin++;
    while (part.begin > 0 && in_word(data[part.begin - 1]))
        part.begin--;
    for (part.end = part.begin; part.end < size && in_word(data[part.end]);)
        part.end++;
    return part;
}

/* `data` with `old` replaced by `text`; the same where there is no room. */
static size_t replace(uint8_t *data, size_t size, size_t most, struct part old, const void *text,
                      size_t length)
{
    size_t rest = size - old.end;

    if (old.begin + length + rest > most)
        return size;
    memmove(data + old.begin + length, data + old.end, rest);
    memcpy(data + old.begin, text, length);
    return old.begin + length + rest;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static const char *const numbers[] = {"0",  "1",  "2",     "3",          "4",   "8",
                                          "-1", "16", "65536", "2147483647", "0.5", "1e30"};
    unsigned state = seed, kind = draw(&state, 10);
    struct part at, from;
    uint8_t *copy;

    if (size == 0 || kind >= 5)
        return LLVMFuzzerMutate(data, size, most);
    copy = (uint8_t *)fuzz_copy(data, size, 1);
    at = kind < 3 ? some_lines(data, size, &state) : some_word(data, size, &state);
    from = kind < 3 ? some_lines(data, size, &state) : some_word(data, size, &state);
    switch (kind) {
    case 0: /* lines go */
        size = replace(data, size, most, at, "", 0);
        break;
    case 1: /* lines stand once more elsewhere */
        at.end = at.begin;
        size = replace(data, size, most, at, copy + from.begin, from.end - from.begin);
        break;
    case 2: /* lines take the place of others */
    case 3: /* so do words */
        size = replace(data, size, most, at, copy + from.begin, from.end - from.begin);
        break;
    default: {
        const char *number = numbers[draw(&state, sizeof numbers / sizeof *numbers)];

        size = replace(data, size, most, at, number, strlen(number));
    }
    }
    free(copy);
    return size;
}

/* Lines or a word of the other input. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *data, size_t size, const uint8_t *other, size_t other_size,
                                 uint8_t *out, size_t most, unsigned seed)
{
    unsigned state = seed, kind = draw(&state, 3);
    struct part at, from;

    if (size > most)
        size = most;
    memcpy(out, data, size);
    at = kind < 2 ? some_lines(data, size, &state) : some_word(data, size, &state);
    from = kind < 2 ? some_lines(other, other_size, &state) : some_word(other, other_size, &state);
    if (kind == 0)
        at.end = at.begin;
    return replace(out, size, most, at, other + from.begin, from.end - from.begin);
}
