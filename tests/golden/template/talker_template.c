/* talker_template.c - written by modc from chat_template.jinja, which template.yaml names.
 * Change these, not this file. It is yours, under any terms. */
#include "talker.h"

enum modc_status talker_chat(const struct modc_turn *turns, int count, struct modc_chat *chat,
                             char *out, size_t room, size_t *bytes)
{
    struct modc_prompt prompt, *p = &prompt;
    const struct modc_turn_list messages = {turns, count, 1};

    if (modc_prompt_begin(p, turns, count, chat, out, room) != MODC_OK)
        return modc_prompt_end(p, bytes);

    struct modc_text ns_system = MODC_TEXT("");
    int ns_last_user = -1;
    size_t message_used = p->used;

    for (int i = 0; i < messages.count; i++) {
        const struct modc_turn *message = modc_turn_at(p, messages, i);

        p->used = message_used; /* what was joined for the turn before is no longer needed */
        if (modc_same(message->role, MODC_TEXT("system")))
            ns_system = modc_keep(p, ns_system,
                                  MODC_JOIN(p, ns_system, modc_strip(message->content),
                                            MODC_TEXT("\n")));
        else if (modc_same(message->role, MODC_TEXT("user")))
            ns_last_user = i;
    }
    if (ns_system.bytes > 0) {
        modc_put(p, MODC_TEXT("<|system|>\n"));
        modc_put(p, ns_system);
        modc_put(p, MODC_TEXT("<|end|>\n"));
    }
    message_used = p->used;
    for (int i = 0; i < messages.count; i++) {
        const struct modc_turn *message = modc_turn_at(p, messages, i);

        p->used = message_used; /* what was joined for the turn before is no longer needed */
        if (modc_same(message->role, MODC_TEXT("system")))
            continue;
        if (modc_same(message->role, MODC_TEXT("user"))) {
            modc_put(p, MODC_TEXT("<|user|>\n"));
            modc_put(p, message->content);
            modc_put(p, MODC_TEXT("<|end|>\n"));
        } else if (modc_same(message->role, MODC_TEXT("assistant"))) {
            struct modc_text content = message->content;

            if (message->reasoning_content.data != NULL)
                content = MODC_JOIN(p, MODC_TEXT("<think>"), message->reasoning_content,
                                    MODC_TEXT("</think>"), content);
            else if (modc_contains(content, MODC_TEXT("</think>")))
                content = modc_strip_left_of(modc_split_part(p, content, MODC_TEXT("</think>"), -1),
                                             MODC_TEXT("\n"));
            modc_put(p, MODC_TEXT("<|assistant|>\n"));
            modc_span_begin(p);
            modc_put(p, content);
            modc_put(p, MODC_TEXT("<|end|>"));
            modc_span_end(p);
            modc_put(p, MODC_TEXT("\n"));
        } else {
            return modc_refuse(p,
                               MODC_JOIN(p,
                                         MODC_TEXT("A turn is of the system, of the user or of the "
                                                   "assistant, not of "), message->role), bytes);
        }
    }
    if (ns_last_user < 0)
        return modc_refuse(p, MODC_TEXT("Nobody asks"), bytes);
    if (p->add_generation_prompt)
        modc_put(p, MODC_TEXT("<|assistant|>\n"));
    return modc_prompt_end(p, bytes);
}
