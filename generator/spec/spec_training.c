/* spec_training.c - the section `training:`. What its words mean is said by training.c and optim.c of the module room. */
#include "spec/spec_reader.h"

#include <string.h>

static void read_training_inputs(struct reader *r, struct spec_training *training, const struct node *key,
                                 const struct node *node)
{
    bool good = r->inputs_good;

    if (!spec_is_mapping(r, key, node, "a mapping of names to shapes"))
        return;
    for (int i = 0; i < node->count; i++) {
        struct spec_input input = spec_read_input(r, node->keys[i], node->items[i]);

        if (spec_check_identifier(r, input.name, input.loc) &&
            spec_check_unique_in_c(r, &r->arguments, input.name, input.loc))
            ARENA_PUSH(&r->cx->arena, training->inputs, training->input_count, input);
    }
    r->inputs_good = good; /* what the model itself takes is as well understood as before */
}

/* A call alone is the short form; anything else is statements. */
static void read_loss(struct reader *r, struct spec_training *training, const struct node *key,
                      const struct node *node)
{
    training->loss_loc = node->loc;
    training->loss = spec_read_statements(r, key, node, &training->loss_count);
    if (node->kind != NODE_SCALAR || training->loss_count != 1 || training->loss[0]->kind != STMT_EXPR)
        return;
    if (training->loss[0]->value->kind != EXPR_CALL && training->loss[0]->value->kind != EXPR_BAD) {
        diag_error(r->cx, node->loc, "expected a loss, as CrossEntropyLoss(), or statements that return one");
        return;
    }
    training->criterion = training->loss[0]->value;
    training->loss_count = 0;
    training->loss = NULL;
}

static void read_group(struct reader *r, struct spec_training *training, const struct node *key,
                       const struct node *node)
{
    struct spec_group group = {.loc = node->loc};

    if (!spec_is_mapping(r, key, node, "a mapping, as {params: [\"*.bias\"], weight_decay: 0.0}"))
        return;
    for (int i = 0; i < node->count; i++) {
        const struct node *part = node->keys[i];

        if (strcmp(part->value, "params") == 0) {
            spec_read_patterns(r, part, node->items[i], &group.params);
        } else if (spec_check_identifier(r, part->value, part->loc)) {
            int locs = group.count, values = group.count;

            ARENA_PUSH(&r->cx->arena, group.locs, locs, part->loc);
            ARENA_PUSH(&r->cx->arena, group.values, values, spec_read_expr(r, part, node->items[i]));
            ARENA_PUSH(&r->cx->arena, group.names, group.count, part->value);
        }
    }
    if (group.params.count > 0)
        ARENA_PUSH(&r->cx->arena, training->groups, training->group_count, group);
    else if (!diag_said(r->cx, node->loc))
        diag_error(r->cx, node->loc, "the group has no 'params', the patterns of its parameters");
}

static void read_groups(struct reader *r, struct spec_training *training, const struct node *key,
                        const struct node *node)
{
    if (node->kind != NODE_LIST) {
        spec_wrong_kind(r, key, node, "a list of groups");
        return;
    }
    for (int i = 0; i < node->count; i++)
        read_group(r, training, key, node->items[i]);
}

void spec_read_training(struct reader *r, const struct node *key, const struct node *node)
{
    struct spec_training *training = ARENA_NEW(&r->cx->arena, struct spec_training);
    const struct {
        const char *name;
        struct expr **value;
    } calls[] = {{"optimizer", &training->optimizer}, {"clip", &training->clip},
                 {"scheduler", &training->scheduler}, {"ema", &training->ema},
                 {"master", &training->master},       {"scaler", &training->scaler}};
    bool has_loss = false, has_optimizer = false;

    if (!spec_is_mapping(r, key, node, "a mapping with loss and optimizer"))
        return;
    r->spec->training = training;
    training->loc = key->loc;
    for (int i = 0; i < node->count; i++) {
        const struct node *part = node->keys[i], *item = node->items[i];
        int call = 0;

        while (call < COUNT(calls) && strcmp(calls[call].name, part->value) != 0)
            call++;
        if (call < COUNT(calls)) {
            *calls[call].value = spec_read_expr(r, part, item);
        } else if (strcmp(part->value, "loss") == 0) {
            has_loss = true;
            read_loss(r, training, part, item);
        } else if (strcmp(part->value, "inputs") == 0) {
            read_training_inputs(r, training, part, item);
        } else if (strcmp(part->value, "groups") == 0) {
            read_groups(r, training, part, item);
        } else {
            const char *meant = spec_unknown_key(r, part, "'training'", SPEC_IN_TRAINING);

            has_loss |= strcmp(meant, "loss") == 0;
            has_optimizer |= strcmp(meant, "optimizer") == 0;
        }
    }
    if (!r->complete)
        return;
    if (!has_loss)
        diag_error(r->cx, key->loc, "'training' has no 'loss'");
    if (!training->optimizer && !has_optimizer)
        diag_error(r->cx, key->loc, "'training' has no 'optimizer'");
}
