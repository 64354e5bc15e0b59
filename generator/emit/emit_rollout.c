/* emit_rollout.c - prints struct MODEL_rollout, its table (runtime/modc_rollout.h) and n-step returns over it. */
#include "emit/emit_rollout.h"

#include <math.h>
#include <string.h>

#include "base/emitted.h"
#include "emit/emit_kernel.h"
#include "emit/emit_names.h"

enum {
    INLINE_STEPS = 8, /* sums of more rewards are loops */
    SUMS = 64,        /* at a time */
    FLOAT_STEPS = 64  /* more rewards are added up in double */
};

struct printer {
    struct cx *cx;
    struct text *out;
    const char *m, *M;
    const struct rollout *rollout;
    const char *gammas; /* what has them; NULL: n_step_gammas, which is to be printed */
};

static const char *number(struct printer *p, enum dtype dtype, double value)
{
    return expr_number(p->cx, dtype, value, 0);
}

/* "0.99", as the spec has it */
static const char *decimal(struct printer *p, double value)
{
    struct text text = text_new(&p->cx->arena);

    text_double(&text, value);
    return text.data;
}

/* ---- the header ----------------------------------------------------------------------------------------------- */

static const char *shape(struct printer *p, const struct record *record)
{
    struct text text = text_new(&p->cx->arena);

    text_add(&text, "(batch, time");
    for (int i = 0; i < record->ndim; i++)
        text_printf(&text, ", %lld", (long long)record->dims[i]);
    text_add(&text, ")");
    return text.data;
}

static const char *made_of(struct printer *p, const struct record *record)
{
    switch (record->role) {
    case ROLLOUT_ORIGINAL:
        return arena_format(&p->cx->arena, ": what %s was; NULL: not wanted",
                            p->rollout->records[record->reward].key);
    case ROLLOUT_GAMMA:
        return arena_format(&p->cx->arena, ": %s to the power of steps_to_next_obs; NULL: not wanted",
                            decimal(p, p->rollout->gamma));
    case ROLLOUT_STEPS:
        return ": how many rewards are in the sum; NULL: not wanted";
    case ROLLOUT_NONTERMINAL:
        return ": whether next is that of a later step; NULL: not wanted";
    case ROLLOUT_INDEX:
        return ": which step next is that of; NULL: not wanted";
    case ROLLOUT_DONE_AT:
        return ": done at that step; NULL: not wanted";
    case ROLLOUT_TERMINATED_AT:
        return ": terminated at that step; NULL: not wanted";
    default:
        return "";
    }
}

/* The members below `prefix`, "" or "next."; what has further parts is a struct where its first record stands. */
static void print_members(struct printer *p, const char *prefix, int depth)
{
    size_t length = strlen(prefix);

    for (int i = 0; i < p->rollout->count; i++) {
        const struct record *record = &p->rollout->records[i];
        const char *name = record->member + length, *dot;
        bool first = true;

        if (strncmp(record->member, prefix, length) != 0)
            continue;
        dot = strchr(name, '.');
        if (!dot) {
            text_printf(p->out, "%*s%s *%s; /* %s%s */\n", 4 * depth, "", dtype_rows[record->dtype].c, name,
                        shape(p, record), made_of(p, record));
            continue;
        }

        const char *inner = arena_copy(&p->cx->arena, record->member, (size_t)(dot + 1 - record->member));

        for (int k = 0; k < i; k++)
            first = first && strncmp(p->rollout->records[k].member, inner, strlen(inner)) != 0;
        if (!first)
            continue;
        text_printf(p->out, "%*sstruct {\n", 4 * depth, "");
        print_members(p, inner, depth + 1);
        text_printf(p->out, "%*s} %.*s;\n", 4 * depth, "", (int)(dot - name), name);
    }
}

static int64_t step_bytes(const struct rollout *rollout, int count)
{
    int64_t bytes = 0;

    for (int i = 0; i < count; i++)
        bytes += rollout->records[i].count * dtype_rows[rollout->records[i].dtype].bytes;
    return bytes;
}

static const char *rewards_text(struct printer *p)
{
    struct text text = text_new(&p->cx->arena);

    for (int i = 0; i < p->rollout->recorded; i++)
        if (p->rollout->records[i].role == ROLLOUT_REWARD)
            text_printf(&text, "%s%s", text.length > 0 ? " and " : "", p->rollout->records[i].key);
    return text.data;
}

static void print_n_step_declaration(struct printer *p)
{
    const struct rollout *rollout = p->rollout;

    text_printf(
        p->out,
        "/* n-step returns in place, as %s says: of %s the sum of up to %d, discounted by %s, which %s and the\n"
        " * last step of a row end. What else is under next comes from the last of these steps, but for what says how a step\n"
        " * ended. MODC_POINTER: what it reads or moves is NULL; MODC_SIZE, MODC_ALIGNMENT. Then nothing is written. */\n"
        "enum modc_status %s_n_step(const struct %s_rollout *rollout, int batch, int time);\n\n",
        rollout->multi_step->path, rewards_text(p), rollout->n_steps, decimal(p, rollout->gamma),
        rollout->records[rollout->done].key, p->m, p->m);
}

static void print_window(struct printer *p)
{
    const char *m = p->m;

    text_printf(
        p->out,
        "/* The same for steps that come a few at a time, as modc_rollout.h says: %s_window_init with %s_WINDOW_BYTES(batch),\n"
        " * %s_window_set, %s_window_ready, %s_window_push, %s_window_flush. */\n"
        "struct %s_window {\n    struct modc_window base;\n};\nMODC_WINDOW_FUNCTIONS(%s)\n\n",
        m, p->M, m, m, m, m, m, m);
}

void emit_rollout_header(struct cx *cx, struct text *out, struct rollout_names names,
                         const struct rollout *rollout)
{
    struct printer printer = {cx, out, names.m, names.M, rollout, NULL}, *p = &printer;
    const char *m = names.m;

    text_printf(
        out,
        "/* What a collector records: of each row, as of an environment, a step at each time. */\nstruct %s_rollout {\n",
        m);
    print_members(p, "", 1);
    text_printf(
        out,
        "};\n\n#define %s_ROLLOUT_BYTES(batch, time) ((size_t)(batch) * (size_t)(time) * %lld + %d * MODC_ALIGN)\n"
        "extern const struct modc_rollout_table %s_rollout_table;\n\n"
        "/* %s_rollout_bind: points all tensors into one block; see modc_rollout.h. */\nMODC_ROLLOUT_FUNCTIONS(%s)\n\n",
        names.M, (long long)step_bytes(rollout, rollout->count), rollout->count, m, m, m);
    if (!rollout->multi_step)
        return;
    print_n_step_declaration(p);
    text_printf(out, "#define %s_WINDOW_BYTES(batch) ((size_t)(batch) * %lld)\n\n", names.M,
                (long long)(step_bytes(rollout, rollout->recorded) * rollout->n_steps));
    print_window(p);
}

/* ---- the source ----------------------------------------------------------------------------------------------- */

/* "reward[i] + 0.9f * (reward[i + 2] + ...)", or that of vectors, which `load` begins. */
static const char *sum_text(struct printer *p, const char *load, const char *gamma, int64_t next)
{
    bool vectors = load[0] != 0;
    struct text sum = text_new(&p->cx->arena);
    int n = p->rollout->n_steps;

    for (int k = vectors ? 0 : 1; k < n; k++) {
        const char *at = k > 0 ? arena_format(&p->cx->arena, "i + %lld", (long long)(k * next)) : "i";
        const char *own = vectors ? arena_format(&p->cx->arena, "%s(reward + %s)", load, at)
                                  : arena_format(&p->cx->arena, "reward[%s]", at);

        text_printf(&sum, "%s%s%s%s", k > 0 && vectors ? " + " : "", k > 0 ? gamma : "", k > 0 ? " * " : "",
                    k > 0 && k + 1 < n ? "(" : "");
        text_printf(&sum, "%s%s", own, !vectors && k + 1 < n ? " + " : "");
    }
    for (int k = 2; k < n; k++)
        text_add(&sum, ")");
    return sum.data;
}

/* Few rewards a sum, all of a row's elements beside each other: vectors. What the episode's end makes shorter is made before they
 * write, and written behind: nothing is read that was just written. */
static void print_vectors(struct printer *p, const struct record *reward, const char *gamma, int64_t next)
{
    const char *v = reward->dtype == DTYPE_FLOAT64 ? "modc_f64" : "modc_f32",
               *lanes = reward->dtype == DTYPE_FLOAT64 ? "MODC_LANES64" : "MODC_LANES";
    const char *c = dtype_rows[reward->dtype].c;
    int64_t few = (p->rollout->n_steps - 1) * next;
    struct text *out = p->out;

    text_printf(
        out,
        "    const int all = count%s, few = all < %lld ? all : %lld, whole = all - few;\n    %s last[%lld]; /* from the last one back */\n    int i = 0;\n\n",
        next > 1 ? arena_format(&p->cx->arena, " * %lld", (long long)next) : "", (long long)few,
        (long long)few, c, (long long)few);
    text_printf(out, "    for (int j = 0; j < few; j++)\n        last[j] = reward[all - 1 - j]%s;\n",
                arena_format(&p->cx->arena, " + (j < %lld ? 0 : %s * last[j - %lld])", (long long)next, gamma,
                             (long long)next));
    text_printf(out, "    for (; i <= whole - %s; i += %s)\n", lanes, lanes);
    emit_line(out, arena_format(&p->cx->arena, "        %s_store(reward + i, %s);", v,
                                sum_text(p, arena_format(&p->cx->arena, "%s_load", v), gamma, next)));
    text_add(out, "    for (; i < whole; i++)\n");
    emit_line(out, arena_format(&p->cx->arena, "        reward[i] += %s;", sum_text(p, "", gamma, next)));
    text_add(out, "    for (int j = 0; j < few; j++)\n        reward[all - 1 - j] = last[j];\n");
}

/* How the sums of one reward are printed: `in` front of its lines; of the flat index i, that the reward stands at i * scale, that
 * of the step behind it `next` further. */
struct summed {
    const struct record *reward;
    const char *real, *back;  /* the type of a sum; a cast back to the reward's */
    const char *gamma, *wide; /* as numbers of the reward's type, and of the sum's */
    int64_t features, scale, next;
    bool rows; /* one agent: all elements lie beside each other */
    const char *in, *at;
};

static struct summed summed_of(struct printer *p, const struct record *reward)
{
    const int n = p->rollout->n_steps;
    const char *c = dtype_rows[reward->dtype].c;
    struct summed s = {.reward = reward, .real = c, .back = "", .in = "    ", .at = "i"};

    s.gamma = s.wide = number(p, reward->dtype, p->rollout->gamma);
    if (n > FLOAT_STEPS) {
        s.real = "double";
        s.wide = decimal(p, p->rollout->gamma);
    }
    if (strcmp(s.real, c) != 0)
        s.back = arena_format(&p->cx->arena, "(%s)", c);
    s.features = reward->count / p->rollout->agents;
    s.rows = p->rollout->agents == 1;
    s.scale = s.rows ? 1 : reward->count;
    s.next = s.rows ? s.features : 1;
    if (!s.rows && s.features > 1)
        s.in = "        ";
    if (s.scale != 1)
        s.at = arena_format(&p->cx->arena, "i * %lld", (long long)s.scale);
    return s;
}

/* Of steps with as many behind them as a sum has: each sum written out, or many of them beside each other. */
static void print_whole_sums(struct printer *p, const struct summed *s)
{
    struct arena *arena = &p->cx->arena;
    const int n = p->rollout->n_steps;
    const char *in = s->in;

    if (n <= INLINE_STEPS) {
        struct text sum = text_new(arena);

        for (int k = 1; k < n; k++)
            text_printf(&sum, k + 1 < n ? "%s * (reward[(i + %d) * %lld] + " : "%s * reward[(i + %d) * %lld]",
                        s->gamma, k, (long long)s->scale);
        for (int k = 2; k < n; k++)
            text_add(&sum, ")");
        text_printf(p->out, "%sfor (int i = 0; i < whole; i++)\n", in);
        emit_line(p->out, arena_format(arena, "%s    reward[%s] += %s;", in, s->at, sum.data));
        return;
    }

    const char *element = s->scale == 1 ? arena_format(arena, "i + j + k * %lld", (long long)s->next)
                                        : arena_format(arena, "(i + j + k) * %lld", (long long)s->scale);
    const char *to = s->scale == 1 ? "i + j" : arena_format(arena, "(i + j) * %lld", (long long)s->scale);

    text_printf(p->out,
                "%sfor (int i = 0; i < whole; i += %d) {\n"
                "%s    const int some = whole - i < %d ? whole - i : %d;\n"
                "%s    %s sum[%d] = {0};\n\n"
                "%s    for (int k = %d; k >= 0; k--)\n"
                "%s        for (int j = 0; j < some; j++)\n"
                "%s            sum[j] = reward[%s] + %s * sum[j];\n"
                "%s    for (int j = 0; j < some; j++)\n"
                "%s        reward[%s] = %ssum[j];\n%s}\n",
                in, SUMS, in, SUMS, SUMS, in, s->real, SUMS, in, n - 1, in, in, element, s->wide, in, in, to,
                s->back, in);
}

/* Of the steps at an episode's end, back from the last. */
static void print_last_sums(struct printer *p, const struct summed *s)
{
    struct arena *arena = &p->cx->arena;
    const char *in = s->in, *deeper = s->next == 1 ? in : arena_format(arena, "%s    ", in);
    const char *last = s->rows && s->features > 1
                           ? arena_format(arena, "(count - 1) * %lld - 1", (long long)s->features)
                           : "count - 2";

    if (p->rollout->n_steps <= FLOAT_STEPS) {
        const char *behind = s->scale == 1 ? arena_format(arena, "i + %lld", (long long)s->next)
                                           : arena_format(arena, "(i + 1) * %lld", (long long)s->scale);

        text_printf(p->out,
                    "%sfor (int i = %s; i >= 0 && i >= whole; i--)\n%s    reward[%s] += %s * reward[%s];\n",
                    in, last, in, s->at, s->gamma, behind);
        return;
    }
    if (s->next == 1)
        text_printf(p->out, "\n%s%s sum = 0;\n\n%sfor (int i = count - 1; i >= 0 && i >= whole; i--) {\n", in,
                    s->real, in);
    else
        text_printf(p->out,
                    "%sfor (int j = 1; j <= %lld; j++) {\n%s    %s sum = 0;\n\n"
                    "%s    for (int i = count * %lld - j; i >= 0 && i >= whole; i -= %lld) {\n",
                    in, (long long)s->next, in, s->real, in, (long long)s->next, (long long)s->next);
    text_printf(p->out, "%s    sum = reward[%s] + %s * sum;\n%s    reward[%s] = %ssum;\n%s}\n", deeper, s->at,
                s->wide, deeper, s->at, s->back, deeper);
    if (s->next > 1)
        text_printf(p->out, "%s}\n", in);
}

/* Sums of one agent's rewards: `features` beside each other. */
static void print_sum(struct printer *p, const struct record *reward)
{
    const struct summed s = summed_of(p, reward);
    const int n = p->rollout->n_steps;
    const bool strided = !s.rows && s.features > 1;

    text_printf(
        p->out,
        "/* Each of an episode's `count` steps gets the sum of its reward and of %d behind it, or as many as there are, discounted by\n"
        " * %s. */\nstatic void n_step_%s(void *rewards, int count)\n{\n    %s *%sreward = rewards;\n",
        n - 1, decimal(p, p->rollout->gamma), emitted_flat(p->cx, reward->member),
        dtype_rows[reward->dtype].c, strided ? "" : "const ");
    if (strided)
        text_printf(p->out, "    for (int feature = 0; feature < %lld; feature++, reward++) {\n",
                    (long long)s.features);
    if (s.rows && n <= INLINE_STEPS) {
        print_vectors(p, reward, s.gamma, s.next);
        text_add(p->out, "}\n\n");
        return;
    }
    if (s.rows && s.features > 1)
        text_printf(p->out, "%sconst int whole = (count - %d) * %lld;\n\n", s.in, n - 1,
                    (long long)s.features);
    else
        text_printf(p->out, "%sconst int whole = count - %d;\n\n", s.in, n - 1);
    print_whole_sums(p, &s);
    print_last_sums(p, &s);
    if (strided)
        text_add(p->out, "    }\n");
    text_add(p->out, "}\n\n");
}

static void print_n_step(struct printer *p)
{
    text_printf(p->out,
                "enum modc_status %s_n_step(const struct %s_rollout *rollout, int batch, int time)\n{\n"
                "    return modc_n_step(&%s_rollout_table, rollout, batch, time);\n}\n\n",
                p->m, p->m, p->m);
}

/* Whether n-step returns sum its rewards up. */
static bool is_summed(const struct rollout *rollout, int record)
{
    return rollout->multi_step && rollout->n_steps > 1 && rollout->records[record].role == ROLLOUT_REWARD;
}

static void print_gammas(struct printer *p)
{
    struct text line = text_new(&p->cx->arena);

    if (p->gammas)
        return;
    text_printf(&line, "static const float n_step_gammas[%d] = {", p->rollout->n_steps + 1);
    for (int i = 0; i <= p->rollout->n_steps; i++)
        text_printf(&line, "%s%s", i ? ", " : "", number(p, DTYPE_FLOAT32, pow(p->rollout->gamma, i)));
    text_add(&line, "};");
    emit_line(p->out, line.data);
    text_add(p->out, "\n");
}

static void print_table(struct printer *p)
{
    static const char *const roles[] = {"STAYS", "MOVES",       "REWARD", "ORIGINAL", "GAMMA",
                                        "STEPS", "NONTERMINAL", "INDEX",  "DONE_AT",  "TERMINATED_AT"};
    const struct rollout *rollout = p->rollout;
    struct text *out = p->out;

    text_add(out, "static const struct modc_rollout_tensor rollout_tensors[] = {\n");
    for (int i = 0; i < rollout->count; i++) {
        const struct record *record = &rollout->records[i];
        struct text line = text_new(&p->cx->arena);
        const bool same = strcmp(record->key, record->member) == 0;

        if (same)
            text_printf(&line, "    MODC_RECORD(%s, %s, ", p->m, record->member);
        else
            text_printf(&line, "    {\"%s\", offsetof(struct %s_rollout, %s), ", record->key, p->m,
                        record->member);
        text_printf(&line, same ? "%lld, %s, %s, %d, " : "%lld, MODC_%s, MODC_ROLLOUT_%s, %d, ",
                    (long long)(record->count * dtype_rows[record->dtype].bytes),
                    dtype_rows[record->dtype].modc + strlen("MODC_"), roles[record->role], record->ndim);
        text_add(&line, record->ndim > 0 ? "(const int[]){" : "NULL");
        for (int k = 0; k < record->ndim; k++)
            text_printf(&line, "%s%lld", k ? ", " : "", (long long)record->dims[k]);
        text_printf(&line, "%s, %d, ", record->ndim > 0 ? "}" : "",
                    record->role == ROLLOUT_ORIGINAL ? record->reward : -1);
        text_printf(&line, is_summed(rollout, i) ? "n_step_%s" : "NULL", emitted_flat(p->cx, record->member));
        text_add(&line, same ? ")," : "},");
        emit_line(out, line.data);
    }
    text_add(out, "};\n\n");
    text_printf(
        out,
        "const struct modc_rollout_table %s_rollout_table = {\n"
        "    .tensors = rollout_tensors,\n    .count = %d,\n    .step_bytes = %lld,\n    .held_bytes = %lld,\n"
        "    .agents = %d,\n    .done = %d,\n    .mask = %d,\n    .terminated = %d,\n",
        p->m, rollout->count, (long long)step_bytes(rollout, rollout->count),
        (long long)step_bytes(rollout, rollout->recorded), (int)rollout->agents, rollout->done, rollout->mask,
        rollout->terminated);
    if (rollout->multi_step)
        text_printf(out, "    .n_steps = %d,\n    .gamma = %s,\n    .gammas = %s,\n", rollout->n_steps,
                    decimal(p, rollout->gamma), p->gammas ? p->gammas : "n_step_gammas");
    text_add(out, "};\n\n");
}

void emit_rollout_source(struct cx *cx, struct text *out, struct rollout_names names,
                         const struct rollout *rollout)
{
    struct printer printer = {cx, out, names.m, names.M, rollout, names.gammas}, *p = &printer;

    text_add(out, "/* ---- rollouts ---- */\n\n");
    if (rollout->multi_step) {
        print_gammas(p);
        for (int i = 0; i < rollout->recorded; i++)
            if (is_summed(rollout, i))
                print_sum(p, &rollout->records[i]);
        print_n_step(p);
    }
    print_table(p);
}
