/* diff_interface.c - what a caller sees of two models: entries, inputs, outputs, sizes, constants, settings. */
#include "commands/diff_parts.h"

#include <string.h>

#include "base/storage.h"
#include "grammar/grammar.h"
#include "modc_tokenizer.h"
#include "module/module.h"
#include "template/chat.h"
#include "tokenizer/tokenizer.h"
#include "tree/generation.h"

static const struct entry *find_entry(const struct side *side, const char *name)
{
    const struct program *program = side->summary->plan->program;

    for (int i = 0; i < program->entry_count; i++)
        if (strcmp(program->entries[i].name, name) == 0)
            return &program->entries[i];
    return NULL;
}

/* "act(batch, observation), batch at most 1": the arguments of its function in C, and lowered maxima. */
static const char *entry_text(struct compare *c, const struct side *side, const struct entry *entry)
{
    struct text text = text_new(&c->cx->arena);
    int count = 0;

    text_printf(&text, "%s(", entry->name);
    for (int i = 0; i < side->tree->size_count; i++)
        text_printf(&text, "%s%s", count++ ? ", " : "", side->tree->sizes[i].name);
    for (int i = 0; i < entry->input_count; i++)
        text_printf(&text, "%s%s", count++ ? ", " : "", entry->graphs[0][0]->inputs[i]->name);
    text_add(&text, ")");
    for (int i = 0; i < side->tree->size_count; i++)
        if (entry->sizes[i].max != side->tree->sizes[i].max)
            text_printf(&text, ", %s at most %lld", entry->sizes[i].name, (long long)entry->sizes[i].max);
    return text.data;
}

static const char *output_text(struct compare *c, const struct entry *entry, int index)
{
    const struct graph *graph = entry->graphs[0][0];

    return arena_format(&c->cx->arena, "%s: %s", graph->output_names[index],
                        value_shown_text(&c->cx->arena, graph->outputs[index], graph->complex[index]));
}

/* Of an entry that both have; it returns them by position. */
static void compare_outputs(struct compare *c, const struct entry *old, const struct entry *new)
{
    int old_count = old->graphs[0][0]->output_count, new_count = new->graphs[0][0]->output_count;

    for (int i = 0; i < old_count || i < new_count; i++)
        diff_add_pair(c, DIFF_OUTPUTS, arena_format(&c->cx->arena, "%s[%d]", new->name, i),
                      i < old_count ? output_text(c, old, i) : NULL,
                      i < new_count ? output_text(c, new, i) : NULL);
}

void diff_entries(struct compare *c)
{
    const struct program *old = c->old.summary->plan->program, *new = c->new.summary->plan->program;

    for (int i = 0; i < old->entry_count; i++)
        if (!find_entry(&c->new, old->entries[i].name))
            diff_add_pair(c, DIFF_ENTRIES, old->entries[i].name, entry_text(c, &c->old, &old->entries[i]),
                          NULL);
    for (int i = 0; i < new->entry_count; i++) {
        const struct entry *entry = &new->entries[i], *other = find_entry(&c->old, entry->name);

        diff_add_pair(c, DIFF_ENTRIES, entry->name, other ? entry_text(c, &c->old, other) : NULL,
                      entry_text(c, &c->new, entry));
        if (other)
            compare_outputs(c, other, entry);
    }
}

/* Name and text of one thing of a list. */
struct named {
    const char *name, *text;
};

static const char *named_text(const struct named *list, int count, const char *name)
{
    for (int i = 0; i < count; i++)
        if (strcmp(list[i].name, name) == 0)
            return list[i].text;
    return NULL;
}

static void compare_named(struct compare *c, enum diff_part part, const struct named *old, int old_count,
                          const struct named *new, int new_count)
{
    for (int i = 0; i < old_count; i++)
        diff_add_pair(c, part, old[i].name, old[i].text, named_text(new, new_count, old[i].name));
    for (int i = 0; i < new_count; i++)
        if (!named_text(old, old_count, new[i].name))
            diff_add_pair(c, part, new[i].name, NULL, new[i].text);
}

/* With what they are required to meet. */
static struct named *list_sizes(struct compare *c, const struct side *side, int *count)
{
    struct named *list = ARENA_ARRAY(&c->cx->arena, side->tree->size_count + 2, struct named);
    struct text required = text_new(&c->cx->arena);

    for (int i = 0; i < side->tree->size_count; i++)
        list[i] = (struct named){
            side->tree->sizes[i].name,
            arena_format(&c->cx->arena, "at most %lld", (long long)side->tree->sizes[i].max)};
    for (int i = 0; i < side->tree->requirement_count; i++)
        text_printf(&required, "%s%s", i ? ", " : "",
                    requirement_text(&c->cx->arena, &side->tree->requirements[i]));
    *count = side->tree->size_count;
    if (required.length > 0)
        list[(*count)++] = (struct named){"require", required.data};
    return list;
}

static struct named *list_constants(struct compare *c, const struct side *side)
{
    struct named *list = ARENA_ARRAY(&c->cx->arena, side->tree->constant_count + 1, struct named);
    struct eval eval = {.cx = side->cx};

    for (int i = 0; i < side->tree->constant_count; i++)
        list[i] = (struct named){side->tree->constants[i].name,
                                 ev_text(&eval, &side->tree->constants[i].value)};
    return list;
}

/* The inputs that some entry takes, in the order of the spec. */
static struct named *list_inputs(struct compare *c, const struct side *side, int *count)
{
    const struct program *program = side->summary->plan->program;
    struct named *list = ARENA_ARRAY(&c->cx->arena, side->spec->input_count + 1, struct named);

    *count = 0;
    for (int i = 0; i < side->spec->input_count; i++) {
        const struct value *found = NULL;

        for (int k = 0; k < program->entry_count; k++)
            for (int n = 0; n < program->entries[k].input_count; n++)
                if (strcmp(program->entries[k].graphs[0][0]->inputs[n]->name, side->spec->inputs[i].name) ==
                    0)
                    found = program->entries[k].graphs[0][0]->inputs[n];
        if (found)
            list[(*count)++] = (struct named){
                side->spec->inputs[i].name, value_shown_text(&c->cx->arena, found, found->op->input.complex)};
    }
    return list;
}

enum { SETTINGS = 29 };

static const char *joined(struct compare *c, const char *const *words, int count)
{
    struct text text = text_new(&c->cx->arena);

    for (int i = 0; i < count; i++)
        text_printf(&text, "%s%s", i ? ", " : "", words[i]);
    return text.data;
}

/* The words of an expression of `training:`, or "none". */
static const char *words_of(struct compare *c, const struct expr *expr)
{
    return expr ? expr_source(c->cx, expr) : "none";
}

static const char *loss_text(struct compare *c, const struct spec_training *training)
{
    struct text text = text_new(&c->cx->arena);

    for (int i = 0; i < training->loss_count; i++)
        text_printf(&text, "%s%s", i ? "; " : "", stmt_source(c->cx, training->loss[i]));
    return training->criterion ? words_of(c, training->criterion) : text.data;
}

static const char *groups_text(struct compare *c, const struct spec_training *training)
{
    struct text text = text_new(&c->cx->arena);

    for (int i = 0; i < training->group_count; i++) {
        const struct spec_group *group = &training->groups[i];

        text_printf(&text, "%s%s", i ? "; " : "", joined(c, group->params.list, group->params.count));
        for (int j = 0; j < group->count; j++)
            text_printf(&text, " %s=%s", group->names[j], words_of(c, group->values[j]));
    }
    return text.length > 0 ? text.data : "none";
}

static const char *training_inputs(struct compare *c, const struct spec_training *training)
{
    struct text text = text_new(&c->cx->arena);

    for (int i = 0; i < training->input_count; i++)
        text_printf(&text, "%s%s %s %s", i ? ", " : "", training->inputs[i].name,
                    words_of(c, training->inputs[i].shape),
                    training->inputs[i].dtype ? training->inputs[i].dtype->text : "");
    return text.length > 0 ? text.data : "none";
}

static const char *rollout_settings(struct compare *c, const struct spec_rollout *rollout)
{
    struct text text = text_new(&c->cx->arena);

    for (const struct spec_rollout_setting *setting = spec_rollout_settings; setting->name; setting++) {
        const struct spec_patterns *keys = spec_rollout_keys(rollout, setting);

        if (keys->count > 0)
            text_printf(&text, "%s%s %s", text.length > 0 ? ", " : "", setting->name,
                        joined(c, keys->list, keys->count));
    }
    return text.length > 0 ? text.data : "none";
}

static struct named *list_records(struct compare *c, const struct side *side, int *count)
{
    static const struct spec_rollout none = {0};
    const struct spec_rollout *rollout = side->spec->rollout ? side->spec->rollout : &none;
    struct named *list = ARENA_ARRAY(&c->cx->arena, rollout->record_count + 1, struct named);

    *count = rollout->record_count;
    for (int i = 0; i < *count; i++) {
        const struct spec_record *record = &rollout->records[i];

        list[i] = (struct named){arena_format(&c->cx->arena, "record %s", record->key),
                                 arena_format(&c->cx->arena, "%s%s%s", words_of(c, record->shape),
                                              record->dtype ? " " : "",
                                              record->dtype ? record->dtype->text : "")};
    }
    return list;
}

/* The file, and what shows that it is another one under the same name. */
static const char *tokenizer_text(struct compare *c, const struct spec *spec)
{
    if (!spec->tokens)
        return "none";
    return arena_format(&c->cx->arena, "%s, %d tokens, %08llx", spec->tokenizer,
                        spec->tokens->table->vocabulary,
                        (unsigned long long)(spec->tokens->hash & 0xffffffff));
}

/* As many, and what tells them from others. */
static const char *ranges_text(struct compare *c, const struct side *side)
{
    const struct module_tree *tree = side->tree;
    uint32_t hash = 2166136261U; /* FNV-1a */

    if (!tree->calibrated)
        return "none";
    for (int i = 0; i < tree->range_count; i++) {
        const struct module_range *range = &tree->ranges[i];
        const char *text = arena_format(&c->cx->arena, "%s %a %a\n", range->name, (double)range->least,
                                        (double)range->most);

        for (; *text; text++)
            hash = (hash ^ (unsigned char)*text) * 16777619U;
    }
    return arena_format(&c->cx->arena, "%s, %d ranges, %08lx", side->spec->ranges, tree->range_count,
                        (unsigned long)hash);
}

static const char *generation_text(struct compare *c, const struct generation *generation)
{
    struct text text = text_new(&c->cx->arena);

    if (!generation)
        return "none";
    text_printf(&text, "context %lld, sequences %lld, page %lld", (long long)generation->context,
                (long long)generation->sequences, (long long)generation->page);
    for (int i = 0; i < generation->eos_count; i++)
        text_printf(&text, "%s%lld", i ? " " : ", eos ", (long long)generation->eos[i]);
    if (generation->pad >= 0)
        text_printf(&text, ", pad %lld", (long long)generation->pad);
    for (int i = 0; i < generation->spec->default_count; i++)
        text_printf(&text, ", %s %s", generation->spec->defaults[i].name,
                    words_of(c, generation->spec->defaults[i].value));
    for (int i = 0; i < generation->spec->grammar_count; i++) {
        const struct spec_grammar *grammar = &generation->spec->grammars[i];

        text_printf(&text, ", grammar %s %s", grammar->name,
                    grammar->regex ? grammar->regex : grammar->schema);
        if (grammar->schema && grammar->table) /* what shows that it is another one under the same name */
            text_printf(&text, " %08llx", (unsigned long long)(grammar_hash(grammar->table) & 0xffffffff));
    }
    return text.data;
}

static const char *template_text(struct compare *c, const struct spec *spec)
{
    return spec->chat ? arena_format(&c->cx->arena, "%s, %08llx", spec->template,
                                     (unsigned long long)(spec->chat->hash & 0xffffffff))
                      : "none";
}

static const char *storages(struct compare *c, const struct spec *spec)
{
    struct text text = text_new(&c->cx->arena);

    for (int i = 0; i < spec->storage_count; i++) {
        const struct spec_storage *own = &spec->storages[i];

        text_printf(&text, "%s%s%s%s", i ? ", " : "", own->pattern ? own->pattern : "",
                    own->pattern ? " " : "", own->kind ? storage_text(&c->cx->arena, own->kind) : own->dtype);
    }
    return text.length > 0 ? text.data : "as dtype";
}

static void list_settings(struct compare *c, const struct side *side, struct named settings[SETTINGS])
{
    static const struct spec_training none = {0};
    static const struct spec_rollout no_rollout = {0};
    static const char *const toggles[] = {[SPEC_DEFAULT] = "on", [SPEC_OFF] = "none", [SPEC_ON] = "on"};
    const struct spec *spec = side->spec;
    const struct spec_training *training = spec->training ? spec->training : &none;
    struct named list[SETTINGS] = {
        {"model", spec->model},
        {"dtype", joined(c, spec->dtypes, spec->dtype_count)},
        {"device", joined(c, spec->devices, spec->device_count)},
        {"hooks", toggles[spec->hooks]},
        {"pack", toggles[spec->pack]},
        {"state_dict", toggles[spec->state_dict]},
        {"storage", storages(c, spec)},
        {"activations", spec->dynamic      ? "int8"
                        : spec->calibrated ? "calibrated"
                                           : "none"},
        {"ranges", ranges_text(c, side)},
        {"autocast", spec->autocast ? spec->autocast : "none"},
        {"winograd", spec->winograd == SPEC_OFF ? "off" : "on"},
        {"denormals", spec->flushes ? "flush" : "keep"},
        {"threads", arena_format(&c->cx->arena, "%d", spec->threads)},
        {"backward", spec->backward ? "true" : "false"},
        {"checkpoint",
         spec->checkpoint.count > 0 ? joined(c, spec->checkpoint.list, spec->checkpoint.count) : "none"},
        {"update", spec->fused ? "fused" : "separate"},
        {"training inputs", training_inputs(c, training)},
        {"loss", spec->training ? loss_text(c, training) : "none"},
        {"optimizer", words_of(c, training->optimizer)},
        {"groups", groups_text(c, training)},
        {"clip", words_of(c, training->clip)},
        {"scheduler", words_of(c, training->scheduler)},
        {"ema", words_of(c, training->ema)},
        {"master", words_of(c, training->master)},
        {"scaler", words_of(c, training->scaler)},
        {"tokenizer", tokenizer_text(c, spec)},
        {"template", template_text(c, spec)},
        {"rollout", rollout_settings(c, spec->rollout ? spec->rollout : &no_rollout)},
        {"generation", generation_text(c, side->tree->generation)},
    };

    memcpy(settings, list, sizeof list);
}

void diff_interface(struct compare *c)
{
    struct named settings[2][SETTINGS], *records[2], *sizes[2], *inputs[2];
    int counts[2];

    list_settings(c, &c->old, settings[0]);
    list_settings(c, &c->new, settings[1]);
    compare_named(c, DIFF_SETTINGS, settings[0], SETTINGS, settings[1], SETTINGS);
    records[0] = list_records(c, &c->old, &counts[0]);
    records[1] = list_records(c, &c->new, &counts[1]);
    compare_named(c, DIFF_SETTINGS, records[0], counts[0], records[1], counts[1]);
    compare_named(c, DIFF_CONSTANTS, list_constants(c, &c->old), c->old.tree->constant_count,
                  list_constants(c, &c->new), c->new.tree->constant_count);
    sizes[0] = list_sizes(c, &c->old, &counts[0]);
    sizes[1] = list_sizes(c, &c->new, &counts[1]);
    compare_named(c, DIFF_SIZES, sizes[0], counts[0], sizes[1], counts[1]);
    inputs[0] = list_inputs(c, &c->old, &counts[0]);
    inputs[1] = list_inputs(c, &c->new, &counts[1]);
    compare_named(c, DIFF_INPUTS, inputs[0], counts[0], inputs[1], counts[1]);
}
