/* spec_dump.c - prints a struct spec, as indented text or as JSON. Apart from spec.c, which reads: the
 * dump is how tests and people see what was read, so it shows expressions as trees (parenthesised), not as
 * they were written. */
#include "base/storage.h"
#include "spec/spec.h"

#include <string.h>

struct dump {
    struct text *text;
    bool json, first; /* first: nothing stands yet in the innermost collection */
    int depth;
};

/* A line with `key` (NULL: an item of a list). */
static void begin_line(struct dump *d, const char *key)
{
    if (d->json && !d->first)
        text_add(d->text, ",");
    if (d->text->length > 0)
        text_add(d->text, "\n");
    for (int i = 0; i < d->depth; i++)
        text_add(d->text, "  ");
    if (key && d->json) {
        text_json_string(d->text, key);
        text_add(d->text, ": ");
    } else if (!d->json) {
        text_printf(d->text, "%s%s", key ? key : "-", key ? ":" : "");
    }
    d->first = false;
}

static void begin(struct dump *d, const char *key, const char *bracket)
{
    begin_line(d, key);
    if (d->json)
        text_add(d->text, bracket);
    d->depth++;
    d->first = true;
}

static void end(struct dump *d, const char *bracket)
{
    d->depth--;
    if (d->json && !d->first) {
        text_add(d->text, "\n");
        for (int i = 0; i < d->depth; i++)
            text_add(d->text, "  ");
    }
    if (d->json)
        text_add(d->text, bracket);
    d->first = false;
}

/* A value of several lines goes on below its first. */
static void put(struct dump *d, const char *key, const char *value)
{
    begin_line(d, key);
    if (d->json) {
        text_json_string(d->text, value);
        return;
    }
    text_add(d->text, " ");
    for (const char *line = value, *end; line; line = end) {
        end = strchr(line, '\n');
        text_add_bytes(d->text, line, end ? (size_t)(end - line) : strlen(line));
        if (end) {
            text_printf(d->text, "\n%*s", 2 * d->depth + 2, "");
            end++;
        }
    }
}

static void put_int(struct dump *d, const char *key, int value)
{
    begin_line(d, key);
    text_printf(d->text, d->json ? "%d" : " %d", value);
}

static void put_bool(struct dump *d, const char *key, bool value)
{
    begin_line(d, key);
    text_printf(d->text, d->json ? "%s" : " %s", value ? "true" : "false");
}

static void put_expr(struct dump *d, const char *key, const struct expr *expr)
{
    if (!expr)
        return;

    struct text text = text_new(d->text->arena);

    expr_print(&text, expr);
    put(d, key, text.data);
}

static void put_strings(struct dump *d, const char *key, const char *const *list, int count)
{
    begin(d, key, "[");
    for (int i = 0; i < count; i++)
        put(d, NULL, list[i]);
    end(d, "]");
}

static void put_args(struct dump *d, const struct signature_arg *args, int count)
{
    begin(d, "args", "[");
    for (int i = 0; i < count; i++) {
        struct text text = text_new(d->text->arena);

        text_add(&text, args[i].name);
        if (args[i].value) {
            text_add(&text, "=");
            expr_print(&text, args[i].value);
        }
        put(d, NULL, text.data);
    }
    end(d, "]");
}

static void put_sizes(struct dump *d, const char *key, const struct spec_size *sizes, int count)
{
    begin(d, key, "{");
    for (int i = 0; i < count; i++)
        put_expr(d, sizes[i].name, sizes[i].max);
    end(d, "}");
}

static void put_requirements(struct dump *d, const struct spec *spec)
{
    begin(d, "require", "[");
    for (int i = 0; i < spec->requirement_count; i++) {
        const struct spec_requirement *requirement = &spec->requirements[i];
        struct text text = text_new(d->text->arena);

        expr_print(&text, requirement->left);
        text_printf(&text, " %s ", expr_op_text(requirement->op));
        expr_print(&text, requirement->right);
        put(d, NULL, text.data);
    }
    end(d, "]");
}

static void put_statements(struct dump *d, const char *key, struct stmt *const *statements, int count)
{
    begin(d, key, "[");
    for (int i = 0; i < count; i++) {
        struct text text = text_new(d->text->arena);

        stmt_print(&text, statements[i]);
        put(d, NULL, text.data);
    }
    end(d, "]");
}

static void put_function(struct dump *d, const char *key, const struct spec_function *function)
{
    begin(d, key, "{");
    if (function->has_args)
        put_args(d, function->args, function->arg_count);
    if (function->max_count > 0)
        put_sizes(d, "max", function->max, function->max_count);
    put_statements(d, "statements", function->statements, function->count);
    end(d, "}");
}

static void put_module(struct dump *d, const char *key, const struct spec_module *module)
{
    if (module->kind == SPEC_MODULE_CALL) {
        put_expr(d, key, module->call);
        return;
    }

    bool map = module->kind == SPEC_MODULE_MAP;

    begin(d, key, map ? "{" : "[");
    if (module->sequential)
        put(d, "class", "Sequential");
    for (int i = 0; i < module->count; i++)
        put_module(d, map ? module->children[i]->name : NULL, module->children[i]);
    end(d, map ? "}" : "]");
}

static void put_changes(struct dump *d, const struct spec *spec)
{
    begin(d, "changes", "[");
    for (int i = 0; i < spec->change_count; i++) {
        begin(d, NULL, "{");
        put(d, "path", spec->changes[i].path);
        put_module(d, spec->changes[i].kind == SPEC_SET ? "set" : "add", spec->changes[i].module);
        end(d, "}");
    }
    end(d, "]");
}

static void put_tensor(struct dump *d, const struct spec_tensor *tensor)
{
    static const char *const kinds[] = {
        [SPEC_PARAMETER] = "parameter", [SPEC_BUFFER] = "buffer", [SPEC_STATE] = "state"};

    begin(d, tensor->name, "{");
    put(d, "kind", kinds[tensor->kind]);
    put_expr(d, "shape", tensor->shape);
    put_expr(d, "init", tensor->init);
    put_expr(d, "value", tensor->value);
    put_expr(d, "dtype", tensor->dtype);
    if (tensor->kind == SPEC_BUFFER)
        put_bool(d, "persistent", tensor->persistent);
    if (tensor->kind == SPEC_PARAMETER)
        put_bool(d, "requires_grad", tensor->requires_grad);
    end(d, "}");
}

static void put_class_body(struct dump *d, const struct spec_class *class)
{
    if (class->base)
        put(d, "base", class->base->name);
    else if (class->container)
        put(d, "base", class->container);
    if (class->constant_count > 0) {
        begin(d, "constants", "{");
        for (int i = 0; i < class->constant_count; i++)
            put_expr(d, class->constants[i].name, class->constants[i].value);
        end(d, "}");
    }
    if (class->init)
        put_function(d, "__init__", class->init);
    if (class->modules)
        put_module(d, "modules", class->modules);
    if (class->tensor_count > 0) {
        begin(d, "tensors", "{");
        for (int i = 0; i < class->tensor_count; i++)
            put_tensor(d, class->tensors[i]);
        end(d, "}");
    }
    if (class->forward)
        put_function(d, "forward", class->forward);
    if (class->method_count > 0) {
        begin(d, "methods", "{");
        for (int i = 0; i < class->method_count; i++)
            put_function(d, class->methods[i]->name, class->methods[i]);
        end(d, "}");
    }
    if (class->extra_repr)
        put(d, "extra_repr", class->extra_repr);
}

static void put_classes(struct dump *d, const struct spec *spec)
{
    begin(d, "classes", "{");
    for (int i = 0; i < spec->class_count; i++) {
        begin(d, spec->classes[i]->name, "{");
        put_args(d, spec->classes[i]->args, spec->classes[i]->arg_count);
        put_class_body(d, spec->classes[i]);
        end(d, "}");
    }
    end(d, "}");
}

static void put_inputs(struct dump *d, const struct spec_input *inputs, int count)
{
    begin(d, "inputs", "{");
    for (int i = 0; i < count; i++) {
        begin(d, inputs[i].name, "{");
        put_expr(d, "shape", inputs[i].shape);
        put_expr(d, "dtype", inputs[i].dtype);
        if (inputs[i].constant)
            put_bool(d, "requires_grad", false);
        end(d, "}");
    }
    end(d, "}");
}

static void put_training(struct dump *d, const struct spec_training *training)
{
    const struct {
        const char *name;
        const struct expr *value;
    } calls[] = {{"loss", training->criterion}, {"optimizer", training->optimizer},
                 {"clip", training->clip},      {"scheduler", training->scheduler},
                 {"ema", training->ema},        {"master", training->master},
                 {"scaler", training->scaler}};

    begin(d, "training", "{");
    if (training->input_count > 0)
        put_inputs(d, training->inputs, training->input_count);
    if (training->loss_count > 0)
        put_statements(d, "loss", training->loss, training->loss_count);
    for (int i = 0; i < COUNT(calls); i++)
        if (calls[i].value)
            put_expr(d, calls[i].name, calls[i].value);
    if (training->group_count > 0)
        begin(d, "groups", "[");
    for (int i = 0; i < training->group_count; i++) {
        const struct spec_group *group = &training->groups[i];

        begin(d, NULL, "{");
        put_strings(d, "params", group->params.list, group->params.count);
        for (int j = 0; j < group->count; j++)
            put_expr(d, group->names[j], group->values[j]);
        end(d, "}");
    }
    if (training->group_count > 0)
        end(d, "]");
    end(d, "}");
}

static void put_rollout(struct dump *d, const struct spec_rollout *rollout)
{
    begin(d, "rollout", "{");
    for (const struct spec_rollout_setting *setting = spec_rollout_settings; setting->name; setting++) {
        const struct spec_patterns *keys = spec_rollout_keys(rollout, setting);

        if (keys->count > 0)
            put_strings(d, setting->name, keys->list, keys->count);
    }
    for (int i = 0; i < rollout->record_count; i++) {
        begin(d, rollout->records[i].key, "{");
        put_expr(d, "shape", rollout->records[i].shape);
        if (rollout->records[i].dtype)
            put_expr(d, "dtype", rollout->records[i].dtype);
        end(d, "}");
    }
    end(d, "}");
}

static void put_storages(struct dump *d, const struct spec *spec)
{
    begin(d, "storage", "{");
    for (int i = 0; i < spec->storage_count; i++) {
        const struct spec_storage *own = &spec->storages[i];

        put(d, own->pattern ? own->pattern : "default",
            own->kind ? storage_text(d->text->arena, own->kind) : own->dtype);
    }
    end(d, "}");
}

static void put_toggle(struct dump *d, const char *key, enum spec_toggle toggle)
{
    if (toggle != SPEC_DEFAULT)
        put(d, key, toggle == SPEC_ON ? "on" : "none");
}

static void put_functions(struct dump *d, const char *key, struct spec_function *const *list, int count)
{
    if (count == 0)
        return;
    begin(d, key, "{");
    for (int i = 0; i < count; i++)
        put_function(d, list[i]->name, list[i]);
    end(d, "}");
}

static void put_generation(struct dump *d, const struct spec_generation *generation)
{
    begin(d, "generation", "{");
    put_expr(d, "context", generation->context);
    put_expr(d, "sequences", generation->sequences);
    put_expr(d, "page", generation->page);
    if (generation->eos)
        put_expr(d, "eos", generation->eos);
    if (generation->pad)
        put_expr(d, "pad", generation->pad);
    if (generation->cache)
        put(d, "cache", generation->cache);
    if (generation->invariant)
        put(d, "invariant", "true");
    if (generation->start)
        put_expr(d, "start", generation->start);
    if (generation->encoder)
        put(d, "encoder", generation->encoder);
    if (generation->default_count > 0) {
        begin(d, "defaults", "{");
        for (int i = 0; i < generation->default_count; i++)
            put_expr(d, generation->defaults[i].name, generation->defaults[i].value);
        end(d, "}");
    }
    if (generation->grammar_count > 0) {
        begin(d, "grammars", "{");
        for (int i = 0; i < generation->grammar_count; i++) {
            const struct spec_grammar *grammar = &generation->grammars[i];

            begin(d, grammar->name, "{");
            put(d, grammar->regex ? "regex" : "schema", grammar->regex ? grammar->regex : grammar->schema);
            if (grammar->depth > 0)
                put(d, "depth", arena_format(d->text->arena, "%d", grammar->depth));
            end(d, "}");
        }
        end(d, "}");
    }
    end(d, "}");
}

void spec_dump(struct text *text, const struct spec *spec, bool json)
{
    struct text body = text_new(text->arena);
    struct dump dump = {.text = &body, .json = json, .first = true, .depth = json ? 1 : 0}, *d = &dump;

    put(d, "model", spec->model);
    put_strings(d, "dtypes", spec->dtypes, spec->dtype_count);
    put_strings(d, "devices", spec->devices, spec->device_count);
    begin(d, "constants", "{");
    for (int i = 0; i < spec->constant_count; i++)
        put_expr(d, spec->constants[i].name, spec->constants[i].value);
    end(d, "}");
    put_sizes(d, "sizes", spec->sizes, spec->size_count);
    if (spec->requirement_count > 0)
        put_requirements(d, spec);
    put_inputs(d, spec->inputs, spec->input_count);
    put_functions(d, "functions", spec->functions, spec->function_count);
    if (spec->class_count > 0)
        put_classes(d, spec);
    put_class_body(d, &spec->root);
    if (spec->change_count > 0)
        put_changes(d, spec);
    put_functions(d, "entries", spec->entries, spec->entry_count);
    if (spec->tie_count > 0) {
        begin(d, "tie", "{");
        for (int i = 0; i < spec->tie_count; i++)
            put(d, spec->ties[i].path, spec->ties[i].source);
        end(d, "}");
    }
    if (spec->freeze.count > 0)
        put_strings(d, "freeze", spec->freeze.list, spec->freeze.count);
    if (spec->eval.count > 0)
        put_strings(d, "eval", spec->eval.list, spec->eval.count);
    if (spec->training)
        put_training(d, spec->training);
    if (spec->rollout)
        put_rollout(d, spec->rollout);
    if (spec->generation)
        put_generation(d, spec->generation);
    if (spec->tokenizer)
        put(d, "tokenizer", spec->tokenizer);
    if (spec->template)
        put(d, "template", spec->template);
    if (spec->checkpoint.count > 0)
        put_strings(d, "checkpoint", spec->checkpoint.list, spec->checkpoint.count);
    if (spec->fused)
        put(d, "update", "fused");
    put_toggle(d, "hooks", spec->hooks);
    put_toggle(d, "pack", spec->pack);
    if (spec->winograd != SPEC_DEFAULT)
        put(d, "winograd", spec->winograd == SPEC_ON ? "on" : "off");
    if (spec->flushes)
        put(d, "denormals", "flush");
    if (spec->autocast)
        put(d, "autocast", spec->autocast);
    put_toggle(d, "state_dict", spec->state_dict);
    if (spec->storage_count > 0)
        put_storages(d, spec);
    if (spec->dynamic)
        put(d, "activations", "int8");
    if (spec->calibrated)
        put(d, "activations", "calibrated");
    if (spec->ranges)
        put(d, "ranges", spec->ranges);
    put_int(d, "threads", spec->threads);
    text_printf(text, json ? "{\n%s\n}\n" : "%s\n", body.data);
}
