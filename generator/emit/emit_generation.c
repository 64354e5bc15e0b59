/* emit_generation.c - prints the table of a model's generator (runtime/modc_generation.h). */
#include "emit/emit_generation.h"

#include "base/emitted.h"
#include "emit/emit_grammar.h"
#include "modc_tokenizer.h"
#include "tokenizer/tokenizer.h"
#include "tree/generation.h"

static const struct value *logits_of(const struct emit *e)
{
    return e->plan->program->entries[0].graphs[0][0]->outputs[0];
}

static int size_of(const struct emit *e, const struct dim *dim)
{
    int i = 0;

    while (!dim_equal(dim, dim_size(&e->cx->arena, &e->tree->sizes[i])))
        i++;
    return i;
}

/* The size that counts the rows. */
static int rows_index(const struct emit *e)
{
    return size_of(e, e->plan->program->entries[0].graphs[0][0]->inputs[0]->dims[0]);
}

static const char *max_of(struct emit *e, int size)
{
    return arena_format(&e->cx->arena, "%s_%s", e->M, emitted_max(e->cx, NULL, e->tree->sizes[size].name));
}

void emit_generation_header(struct emit *e, struct text *out)
{
    const struct generation *generation = e->tree->generation;
    const struct value *logits = logits_of(e);
    const char *text = e->tree->tokenizer ? arena_format(&e->cx->arena, "%s_TOKENIZER_TEXT", e->M) : "0";

    text_printf(out,
                "/* Writes by the model, token by token: modc_generation.h. */\n"
                "extern const struct modc_generation %s_generation;\n\n"
                "#define %s_CONTEXT %lld /* tokens of a sequence */\n"
                "#define %s_SEQUENCES %lld /* that are held at a time */\n",
                e->m, e->M, (long long)generation->context, e->M, (long long)generation->sequences);
    text_printf(
        out,
        "/* The block of %s_generator_init. */\n#define %s_GENERATOR_BYTES \\\n"
        "    MODC_GENERATOR_BYTES(%s, %s, \\\n                         %s_SEQUENCES, %s_CONTEXT, %lld, %lld, %s, %d, %lld)\n\n",
        e->m, e->M, max_of(e, rows_index(e)), max_of(e, size_of(e, logits_of(e)->dims[0])), e->M, e->M,
        (long long)generation->per, (long long)dim_upper(logits->dims[1]), text,
        dtype_rows[logits->dtype].bytes, (long long)plan_encoded_bytes(e->plan));
    emit_grammar_header(out, e->m, generation);
    text_printf(out, "/* %s_generator_init, %s_options */\nMODC_GENERATION_FUNCTIONS(%s)\n\n", e->m, e->m,
                e->m);
}

static void print_caches(struct emit *e, struct text *out, const char *name, enum module_cache kind)
{
    bool first = true;

    text_printf(out, "static const int %s[] = {", name);
    for (int i = 0; i < e->tree->state_count; i++) {
        if (e->tree->states[i]->cache != kind &&
            !(kind == CACHE_SEQUENCES && e->tree->states[i]->cache == CACHE_SOURCE))
            continue;
        text_printf(out, "%s%d", first ? "" : ", ", i);
        first = false;
    }
    text_add(out, "}; /* of states_table */\n");
}

static bool has_caches(const struct emit *e, enum module_cache kind)
{
    for (int i = 0; i < e->tree->state_count; i++)
        if (e->tree->states[i]->cache == kind)
            return true;
    return false;
}

static void print_defaults(struct emit *e, struct text *out)
{
    const struct generation *generation = e->tree->generation;

    text_add(out, "static const struct modc_default defaults_table[] = {\n");
    for (int i = 0; i < generation->default_count; i++) {
        text_add(out, "    {");
        text_c_string(out, generation->defaults[i].name);
        text_add(out, ", ");
        text_c_string(out, generation->defaults[i].value);
        text_add(out, "},\n");
    }
    text_add(out, "};\n");
}

void emit_generation_source(struct emit *e, struct text *out)
{
    const struct generation *generation = e->tree->generation;
    const int64_t eos = e->tree->tokenizer ? e->tree->tokenizer->table->eos : -1;
    const bool own_eos = generation->eos_count > 0;
    const int encoder = program_encoder(e->plan->program);
    const int source = encoder >= 0
                           ? size_of(e, e->plan->program->entries[encoder].graphs[0][0]->inputs[0]->dims[0])
                           : -1;

    text_add(out, "\n");
    if (has_caches(e, CACHE_TOKENS))
        print_caches(e, out, "caches_table", CACHE_TOKENS);
    if (has_caches(e, CACHE_SEQUENCES) || has_caches(e, CACHE_SOURCE))
        print_caches(e, out, "memories_table", CACHE_SEQUENCES);
    if (own_eos || eos >= 0) {
        text_add(out, "static const int64_t eos_table[] = {");
        for (int i = 0; i < generation->eos_count; i++)
            text_printf(out, "%s%lld", i ? ", " : "", (long long)generation->eos[i]);
        text_add(out, own_eos ? "};\n" : arena_format(&e->cx->arena, "%s_TOKENIZER_EOS};\n", e->M));
    }
    if (generation->default_count > 0)
        print_defaults(e, out);
    emit_grammar_source(out, e->m, generation);
    text_printf(out,
                "\nconst struct modc_generation %s_generation = {\n"
                "    .model = &%s_model, .entry = 0,\n"
                "    .rows = %s, .logits = %s, .rows_size = %d, .logits_size = %d,\n"
                "    .vocabulary = %lld,\n"
                "    .context = %s_CONTEXT, .sequences = %s_SEQUENCES, .page = %lld, .per = %lld,\n",
                e->m, e->m, max_of(e, rows_index(e)), max_of(e, size_of(e, logits_of(e)->dims[0])),
                rows_index(e), size_of(e, logits_of(e)->dims[0]), (long long)dim_upper(logits_of(e)->dims[1]),
                e->M, e->M, (long long)generation->page, (long long)generation->per);
    if (has_caches(e, CACHE_TOKENS))
        text_add(out, "    .caches = caches_table, .cache_count = MODC_ROWS(caches_table),\n");
    if (has_caches(e, CACHE_SEQUENCES) || has_caches(e, CACHE_SOURCE))
        text_printf(out, "    .memories = memories_table, .memory_count = MODC_ROWS(memories_table),%s%s\n",
                    has_caches(e, CACHE_SEQUENCES) ? " .recurrent = true," : "",
                    e->tree->one_row ? " .alone = true," : "");
    if (encoder >= 0)
        text_printf(out,
                    "    .encoder = %d, .source = %s, .source_size = %d, .encoded = %lld, .start = %lld,\n",
                    encoder, max_of(e, source), source, (long long)plan_encoded_bytes(e->plan),
                    (long long)generation->start);
    else
        text_add(out, "    .encoder = -1,\n");
    if (own_eos || eos >= 0)
        text_add(out, "    .eos = {eos_table, MODC_ROWS(eos_table)},\n");
    if (generation->pad < 0 && e->tree->tokenizer && e->tree->tokenizer->table->pad >= 0)
        text_printf(out, "    .pad = %s_TOKENIZER_PAD,\n", e->M);
    else
        text_printf(out, "    .pad = %lld,\n", (long long)generation->pad);
    if (generation->default_count > 0)
        text_add(out, "    .defaults = defaults_table, .default_count = MODC_ROWS(defaults_table),\n");
    if (e->tree->chat)
        text_printf(out, "    .chat = %s_chat,\n", e->m);
    if (generation->grammar_count > 0)
        text_add(out, "    .grammars = grammars_table, .grammar_count = MODC_ROWS(grammars_table),\n");
    if (e->tree->tokenizer)
        text_printf(out, "    .tokenizer = &%s_tokenizer, .token_bytes = %s_TOKENIZER_TEXT,\n", e->m, e->M);
    text_add(out, "};\n");
}
