/* chat.c - talks on a terminal with a model: lines of standard input are turns, answered as the model writes. Of each turn what is
 * new is computed: the sequence of all turns before is kept. */
#include <stdio.h>
#include <string.h>

#include "talker.h"

enum { TURNS = 256, TEXT = 1 << 16 };

static MODC_ALIGNED char param_block[TALKER_PARAM_BYTES], packed[TALKER_PACKED_BYTES],
    workspace[TALKER_WORKSPACE_BYTES], block[TALKER_GENERATOR_BYTES], scratch[TALKER_TOKENIZER_BYTES(TEXT)];
static int64_t option_lists[8];
static struct talker_params params;
static struct talker net;
static struct modc_generator gen;
static struct modc_generation_options options;

static struct modc_turn turns[TURNS];
static char said[TEXT], prompt[TEXT]; /* what turns point to; all of it by the template */
static int turn_count, sequence = -1;
static size_t used; /* of `said` */

/* The turn whose text was put at the end of `said`. */
static void add_turn(struct modc_text role, size_t bytes)
{
    turns[turn_count++] = (struct modc_turn){.role = role, .content = {said + used, bytes}};
    used += bytes;
}

/* The sequence has the ids of all turns, and goes on behind them. */
static enum modc_status read_turns(void)
{
    static int64_t ids[TALKER_CONTEXT - 1];
    struct modc_tokens tokens = {.ids = ids, .room = TALKER_CONTEXT - 1};
    struct modc_chat chat = {.add_generation_prompt = true};
    const int64_t *had;
    size_t bytes;
    int count = 0, same = 0;

    MODC_TRY(talker_chat(turns, turn_count, &chat, prompt, sizeof prompt, &bytes));
    MODC_TRY(talker_encode_text(prompt, bytes, MODC_NO_TEMPLATE, &tokens, scratch, sizeof scratch));
    if (sequence < 0)
        return modc_generator_begin(&gen, ids, tokens.count, &options, 0, &sequence);
    had = modc_generator_ids(&gen, sequence, &count, NULL);
    while (same < count && same < tokens.count - 1 && had[same] == ids[same])
        same++;
    fprintf(stderr, "(%d of %d tokens are there)\n", same, tokens.count);
    MODC_TRY(modc_generator_keep(&gen, sequence, same));
    return modc_generator_extend(&gen, sequence, ids + same, tokens.count - same);
}

/* Prints what the model writes up to its EOS, and makes a turn of it. */
static enum modc_status answer(void)
{
    struct modc_event event;
    size_t bytes = 0;
    int count;

    MODC_TRY(read_turns());
    while (modc_generator_active(&gen) > 0) {
        MODC_TRY(modc_generator_step(&gen, &event, 1, &count));
        if (count > 0 && event.finish == MODC_FINISH_FAULT)
            return event.status;
        if (count == 0 || used + bytes + (size_t)event.bytes > TEXT)
            continue;
        memcpy(said + used + bytes, event.text, (size_t)event.bytes);
        bytes += (size_t)event.bytes;
        fwrite(event.text, 1, (size_t)event.bytes, stdout);
        fflush(stdout);
    }
    printf("\n");
    fflush(stdout);
    add_turn(MODC_TEXT("assistant"), bytes);
    return MODC_OK;
}

int main(int argc, char **argv)
{
    struct modc_option_memory lists = {option_lists, sizeof option_lists, 0};
    enum modc_status status = talker_bind(&params, param_block, sizeof param_block);

    if (status == MODC_OK)
        status = argc > 1 ? talker_load(&params, argv[1], MODC_STRICT, NULL) : talker_reset(&params, 1);
    if (status == MODC_OK)
        status = talker_pack(&params, packed, sizeof packed);
    if (status == MODC_OK)
        status = talker_init(&net, &params, workspace, sizeof workspace);
    if (status == MODC_OK)
        status = talker_generator_init(&gen, &net, block, sizeof block);
    if (status == MODC_OK)
        status = talker_options(&options, &lists);
    while (status == MODC_OK && turn_count + 2 <= TURNS && used + 2 < TEXT &&
           fgets(said + used, (int)(TEXT - used), stdin) != NULL) {
        add_turn(MODC_TEXT("user"), strcspn(said + used, "\n"));
        status = answer();
    }
    if (status == MODC_SIZE)
        fprintf(stderr, "chat: the conversation is longer than %d tokens\n", TALKER_CONTEXT);
    else if (status != MODC_OK)
        fprintf(stderr, "chat: %s\n", gen.message[0] != 0 ? gen.message : modc_status_text(status));
    return status == MODC_OK ? 0 : 1;
}
