/* story.c - writes a story on a chip, by a Llama whose weights lie in flash: the likeliest token each time, then drawn ones. */
#include "story.h"
#include "mps2.h"

#ifndef TOKENS
#define TOKENS 64
#endif

static struct story_params params;
static struct story net;
static struct modc_generator gen;
static MODC_ALIGNED char workspace[STORY_WORKSPACE_BYTES], block[STORY_GENERATOR_BYTES];

/* Each token as it comes: its id, or with a tokenizer the text that it completes; then all ids, as modc run prints them. */
static enum modc_status write_story(const char *title, const struct modc_generation_options *options)
{
    static const int64_t prompt[] = {1};
    struct modc_event event;
    int id, count, length, given;
    const int64_t *ids;
    uint32_t begin, instructions = 0;
    enum modc_status status = modc_generator_begin(&gen, prompt, 1, options, 0, &id);

    board_print(title);
    while (status == MODC_OK && modc_generator_active(&gen) > 0) {
        begin = board_ticks();
        status = modc_generator_step(&gen, &event, 1, &count);
        instructions += board_instructions(begin);
        if (status == MODC_OK && count > 0 && event.finish == MODC_FINISH_FAULT)
            status = event.status;
        if (status == MODC_OK && count > 0 && event.text != NULL)
            board_print_bytes(event.text, event.bytes);
    }
    if (status != MODC_OK) {
        board_print(gen.message[0] != 0 ? gen.message : modc_status_text(status));
        board_print("\n");
        return status;
    }
    ids = modc_generator_ids(&gen, id, &length, &given);
    for (int i = given; i < length; i++)
        board_print_number(i == given ? "\n" : " ", (uint32_t)ids[i], "");
    board_print_number("\n", instructions / (uint32_t)(length - given), " instructions a token\n");
    return modc_generator_end(&gen, id);
}

int main(void)
{
    struct modc_generation_options options;

    board_open();
    if (story_bind_embedded(&params) != MODC_OK ||
        story_init(&net, &params, workspace, sizeof workspace) != MODC_OK ||
        story_generator_init(&gen, &net, block, sizeof block) != MODC_OK)
        return 1;
    story_options(&options, NULL);
    options.max_new_tokens = TOKENS;
    if (write_story("greedy:", &options) != MODC_OK)
        return 1;
    options.do_sample = 1;
    options.temperature = 0.8f;
    options.top_p = 0.9f;
    options.seed = 7;
    return write_story("sampled:", &options) == MODC_OK ? 0 : 1;
}
