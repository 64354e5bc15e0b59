/* rollout.c - reads `rollout:`. Apart from spec.c, because shapes want the model's constants, and settings the tree. */
#include "module/rollout.h"

#include <string.h>

#include "base/emitted.h"
#include "module/module_paths.h"

struct reader {
    struct cx *cx;
    struct module_tree *tree;
    struct eval eval;
    struct scope *scope; /* of the model's constants */
    struct rollout *rollout;
    bool fine;
};

static bool ends_with(const char *key, const char *name)
{
    size_t length = strlen(key), own = strlen(name);

    return length >= own && strcmp(key + length - own, name) == 0 &&
           (length == own || key[length - own - 1] == '.');
}

static bool is_below_next(const char *key)
{
    return strncmp(key, "next.", 5) == 0;
}

static int find_record(const struct rollout *rollout, const char *key)
{
    for (int i = 0; i < rollout->count; i++)
        if (strcmp(rollout->records[i].key, key) == 0)
            return i;
    return -1;
}

static bool is_named(const struct spec_patterns *keys, const char *otherwise, const char *key)
{
    for (int i = 0; i < keys->count; i++)
        if (strcmp(keys->list[i], key) == 0)
            return true;
    return keys->count == 0 && strcmp(otherwise, key) == 0;
}

/* ---- records ------------------------------------------------------------------------------------------------ */

static bool is_end(const struct spec_rollout *spec, const char *key)
{
    return ends_with(key, "done") || ends_with(key, "terminated") || ends_with(key, "truncated") ||
           is_named(&spec->done, "next.done", key);
}

/* "next.class.done" -> "next.class_.done" */
static const char *member_of(struct cx *cx, const char *key)
{
    struct text text = text_new(&cx->arena);

    for (;;) {
        size_t length = strcspn(key, ".");

        text_add(&text, emitted_name(cx, arena_copy(&cx->arena, key, length)));
        key += length;
        if (!*key++)
            return text.data;
        text_add(&text, ".");
    }
}

static bool read_shape(struct reader *r, const struct expr *shape, struct record *record)
{
    struct ev value = eval_expr(&r->eval, r->scope, shape);

    record->count = 1;
    if (value.kind != EV_TUPLE)
        return false;
    for (int i = 0; i < value.count; i++) {
        int64_t extent;

        if (value.items[i].kind == EV_BAD)
            return false;
        if (value.items[i].kind != EV_INT || !dim_is_const(value.items[i].dim, &extent) || extent < 1) {
            diag_error(r->cx, value.items[i].loc, "a dimension of a step is an integer from 1, found %s",
                       ev_text(&r->eval, &value.items[i]));
            if (value.items[i].kind == EV_INT && !dim_is_const(value.items[i].dim, &extent))
                diag_hint(
                    r->cx,
                    "how many rows and steps there are is said in each call, and is no part of a step's shape");
            return false;
        }
        if (i >= MAX_DIMS - 2 || record->count > INT32_MAX / extent) {
            diag_error(r->cx, shape->loc, "a step of '%s' is too large", record->key);
            return false;
        }
        record->dims[record->ndim++] = extent;
        record->count *= extent;
    }
    return true;
}

static void read_record(struct reader *r, const struct spec_record *spec)
{
    const struct spec_rollout *section = r->rollout->spec;
    struct record record = {
        .key = spec->key, .member = member_of(r->cx, spec->key), .loc = spec->loc, .dtype = r->tree->dtype};
    bool mask = is_end(section, spec->key) || is_named(&section->mask, "collector.mask", spec->key);

    if (spec->shape->kind == EXPR_BAD || !read_shape(r, spec->shape, &record)) {
        r->fine = false;
        return;
    }
    if (spec->dtype && spec->dtype->kind == EXPR_BAD)
        r->fine = false;
    else if (spec->dtype)
        dtype_find(spec->dtype->text, &record.dtype);
    else if (mask)
        record.dtype = DTYPE_BOOL;
    if (is_named(&section->rewards, "next.reward", spec->key))
        record.role = ROLLOUT_REWARD;
    else if (is_below_next(spec->key) && !is_end(section, spec->key))
        record.role = ROLLOUT_MOVES;
    ARENA_PUSH(&r->cx->arena, r->rollout->records, r->rollout->count, record);
}

/* ---- settings ----------------------------------------------------------------------------------------------- */

static bool is_multi_step(const struct module *module)
{
    return module->layer && strcmp(module->layer->name, "MultiStep") == 0;
}

static const struct module *find_multi_step(struct reader *r)
{
    const struct spec_patterns *given = &r->rollout->spec->multi_step;
    const struct module *found = NULL;

    for (int i = 0; i < r->tree->module_count; i++) {
        const struct module *module = r->tree->modules[i];

        if (!is_multi_step(module) || (given->count > 0 && strcmp(given->list[0], module->path) != 0))
            continue;
        if (found) {
            diag_error(r->cx, r->rollout->spec->loc,
                       "the model has several MultiStep modules, and 'multi_step' names none");
            diag_note(r->cx, found->name_loc, "'%s' is one", found->path);
            diag_note(r->cx, module->name_loc, "'%s' is another one", module->path);
            diag_hint(r->cx, "write 'multi_step: %s' below 'rollout:'", found->path);
            r->fine = false;
            return NULL;
        }
        found = module;
    }
    if (found || given->count == 0 || r->tree->partial)
        return found;
    diag_error(r->cx, given->locs[0], "'%s' is no MultiStep module of the model", given->list[0]);
    r->fine = false;
    return NULL;
}

static double number_of(const struct module *module, const char *name)
{
    double number = 0;

    for (int i = 0; i < module->arg_count; i++)
        if (strcmp(module->args[i].name, name) == 0)
            ev_get_number(&module->args[i].value, &number);
    return number;
}

/* The index of the record that a setting names; -1 after an error, or where nothing says that it has to be there. */
static int needed(struct reader *r, const struct spec_patterns *given, const char *otherwise,
                  const char *what, bool optional)
{
    const char *key = given->count > 0 ? given->list[0] : otherwise;
    int found = find_record(r->rollout, key);
    const char **known = NULL;
    int count = 0;

    if (found >= 0 || (optional && given->count == 0))
        return found;
    r->fine = false;
    for (int i = 0; i < r->rollout->count; i++)
        ARENA_PUSH(&r->cx->arena, known, count, r->rollout->records[i].key);
    diag_error(r->cx, given->count > 0 ? given->locs[0] : r->rollout->spec->loc,
               "the rollout records no '%s', %s", key, what);
    if (given->count > 0 && find_record(r->rollout, arena_format(&r->cx->arena, "next.%s", key)) >= 0)
        diag_hint(r->cx, "keys begin at the top: 'next.%s'", key);
    else if (given->count > 0)
        diag_hint_nearest(r->cx, key, known, count);
    else
        diag_hint(r->cx, "add 'next: {%s: []}' to the records, or name the record by '%s_key%s'",
                  key + strlen("next."), key + strlen("next."), strcmp(key, "next.reward") == 0 ? "s" : "");
    return -1;
}

static void need_bool(struct reader *r, int record)
{
    if (record < 0 || r->rollout->records[record].dtype == DTYPE_BOOL)
        return;
    diag_error(r->cx, r->rollout->records[record].loc, "'%s' must be bool, found %s",
               r->rollout->records[record].key, dtype_rows[r->rollout->records[record].dtype].name);
    r->fine = false;
}

static const char *shape_of(struct reader *r, const struct record *record)
{
    struct text text = text_new(&r->cx->arena);

    for (int i = 0; i < record->ndim; i++)
        text_printf(&text, "%s%lld", i ? ", " : "", (long long)record->dims[i]);
    return arena_format(&r->cx->arena, "[%s]", text.data);
}

/* Where each step has several ends, as of several agents, everything has a part for each of them. */
static void check_agents(struct reader *r)
{
    struct rollout *rollout = r->rollout;
    const struct record *done = &rollout->records[rollout->done];

    rollout->agents = done->count;
    for (int i = 0; i < rollout->count && done->count > 1; i++) {
        const struct record *record = &rollout->records[i];
        bool begins = record->ndim >= done->ndim;

        for (int k = 0; k < done->ndim && begins; k++)
            begins = record->dims[k] == done->dims[k];
        if (begins)
            continue;
        diag_error(r->cx, record->loc, "'%s' is %s, which does not begin with the dimensions of '%s', %s",
                   record->key, shape_of(r, record), done->key, shape_of(r, done));
        diag_note(r->cx, done->loc, "each step has so many ends");
        r->fine = false;
    }
    if (rollout->mask >= 0 && rollout->records[rollout->mask].count != done->count) {
        diag_error(r->cx, rollout->records[rollout->mask].loc,
                   "'%s' is %s, '%s' is %s: a mask has one element for each end",
                   rollout->records[rollout->mask].key, shape_of(r, &rollout->records[rollout->mask]),
                   done->key, shape_of(r, done));
        r->fine = false;
    }
}

static void check_rewards(struct reader *r)
{
    const struct spec_patterns *given = &r->rollout->spec->rewards;

    for (int i = 0; i < given->count; i++) {
        struct spec_patterns one = {given->list + i, given->locs + i, 1};

        needed(r, &one, NULL, "which is to be summed", false);
    }
    if (given->count == 0)
        needed(r, given, "next.reward", "of which n-step returns are made", false);
    for (int i = 0; i < r->rollout->count; i++) {
        const struct record *record = &r->rollout->records[i];

        if (record->role != ROLLOUT_REWARD || record->dtype == DTYPE_FLOAT32 ||
            record->dtype == DTYPE_FLOAT64)
            continue;
        diag_error(r->cx, record->loc, "the reward '%s' must be float32 or float64, found %s", record->key,
                   dtype_rows[record->dtype].name);
        r->fine = false;
    }
}

/* ---- what policy_n_step adds -------------------------------------------------------------------------------- */

static void add_record(struct reader *r, const char *key, enum dtype dtype, enum rollout_role role,
                       const struct record *like)
{
    struct record record = *like;
    int taken = find_record(r->rollout, key);

    record.key = key;
    record.member = member_of(r->cx, key);
    record.dtype = dtype;
    record.role = role;
    record.reward = (int)(like - r->rollout->records);
    if (record.ndim == 1 && record.dims[0] == 1 && role != ROLLOUT_ORIGINAL)
        record.ndim = 0; /* the last dimension of done is squeezed */
    if (taken >= 0) {
        diag_error(r->cx, r->rollout->records[taken].loc, "'%s' is what n-step returns add", key);
        r->fine = false;
        return;
    }
    ARENA_PUSH(&r->cx->arena, r->rollout->records, r->rollout->count, record);
}

static void add_records(struct reader *r)
{
    static const struct {
        const char *name;
        enum dtype dtype;
        enum rollout_role role;
    } info[] = {{"gather_index", DTYPE_INT64, ROLLOUT_INDEX},
                {"done_at_gather_index", DTYPE_BOOL, ROLLOUT_DONE_AT},
                {"terminated_at_gather_index", DTYPE_BOOL, ROLLOUT_TERMINATED_AT}};
    const struct spec_patterns *wanted = &r->rollout->spec->info;
    struct rollout *rollout = r->rollout;
    int own = rollout->recorded, done = rollout->done;

    for (int i = 0; i < own; i++) {
        struct record *record = &rollout->records[i];
        const char *dot = strrchr(record->key, '.');
        int length = dot ? (int)(dot - record->key) + 1 : 0;

        if (record->role == ROLLOUT_REWARD)
            add_record(
                r, arena_format(&r->cx->arena, "%.*soriginal_%s", length, record->key, record->key + length),
                record->dtype, ROLLOUT_ORIGINAL, record);
    }
    add_record(r, "gamma", DTYPE_FLOAT32, ROLLOUT_GAMMA, &rollout->records[done]);
    add_record(r, "steps_to_next_obs", DTYPE_INT64, ROLLOUT_STEPS, &rollout->records[done]);
    add_record(r, "nonterminal", DTYPE_BOOL, ROLLOUT_NONTERMINAL, &rollout->records[done]);
    for (int i = 0; i < wanted->count; i++) {
        int k = 0;

        while (k < COUNT(info) && strcmp(info[k].name, wanted->list[i]) != 0)
            k++;
        if (k == COUNT(info)) {
            diag_error(r->cx, wanted->locs[i], "'%s' is nothing that n-step returns know of a step",
                       wanted->list[i]);
            diag_hint(r->cx, "it is gather_index, done_at_gather_index or terminated_at_gather_index");
            r->fine = false;
            continue;
        }
        if (info[k].role == ROLLOUT_TERMINATED_AT && rollout->terminated < 0) {
            diag_error(
                r->cx, wanted->locs[i],
                "the rollout records no 'next.terminated', which 'terminated_at_gather_index' is made of");
            r->fine = false;
            continue;
        }
        add_record(r, arena_format(&r->cx->arena, "info.%s", info[k].name), info[k].dtype, info[k].role,
                   &rollout->records[done]);
    }
}

static void read_settings(struct reader *r)
{
    struct rollout *rollout = r->rollout;
    const struct spec_rollout *spec = rollout->spec;

    rollout->done = needed(r, &spec->done, "next.done", "which ends episodes", false);
    rollout->mask = needed(r, &spec->mask, "collector.mask", "which says what steps count", true);
    rollout->terminated = find_record(rollout, "next.terminated");
    check_rewards(r);
    need_bool(r, rollout->done);
    need_bool(r, rollout->mask);
    need_bool(r, rollout->terminated);
    if (!r->fine)
        return;
    check_agents(r);
    rollout->gamma = number_of(rollout->multi_step, "gamma");
    rollout->n_steps = (int)number_of(rollout->multi_step, "n_steps");
    if (rollout->n_steps == 0)
        rollout->n_steps = 1;
    if (r->fine)
        add_records(r);
}

/* What is about n-step returns where there are none. */
static void check_unused(struct reader *r)
{
    for (const struct spec_rollout_setting *setting = spec_rollout_settings; setting->name; setting++) {
        const struct spec_patterns *keys = spec_rollout_keys(r->rollout->spec, setting);

        if (keys->count == 0 || keys == &r->rollout->spec->multi_step ||
            r->tree->partial) /* that one was said */
            continue;
        diag_error(r->cx, keys->locs[0], "'%s' is for n-step returns, and the model has no MultiStep module",
                   setting->name);
        diag_hint(r->cx, "add one to the modules: 'n_step: MultiStep(gamma=0.99, n_steps=3)'");
        r->fine = false;
    }
}

struct rollout *rollout_read(struct cx *cx, struct module_tree *tree)
{
    struct reader reader = {.cx = cx, .tree = tree, .fine = true}, *r = &reader;
    const struct spec_rollout *spec = tree->spec->rollout;
    struct rollout *rollout = ARENA_NEW(&cx->arena, struct rollout);

    if (!spec)
        return NULL;
    r->eval = (struct eval){.cx = cx, .default_dtype = tree->dtype, .partial = tree->partial};
    r->scope = module_global_scope(&r->eval, tree, true);
    r->rollout = rollout;
    rollout->spec = spec;
    rollout->done = rollout->mask = rollout->terminated = -1;
    for (int i = 0; i < spec->record_count; i++)
        read_record(r, &spec->records[i]);
    rollout->recorded = rollout->count;
    rollout->multi_step = find_multi_step(r);
    if (r->fine && rollout->multi_step)
        read_settings(r);
    else if (r->fine)
        check_unused(r);
    return r->fine ? rollout : NULL;
}
