/* emit_optim.c - the functions that take a step of an optimiser: a kernel over elements, and above it what makes its
 * scalars of the hyper-parameters. Both are printed from the row of optim.c, line by line, under the row's own names. */
#include "module/optim.h"

#include <assert.h>
#include <string.h>

#include "emit/emit_kernel.h"
#include "emit/emit_names.h"
#include "modc_device.h"

#define MAX_NAMES 32
#define MAX_LINES 24

/* A name that lines may use, and how it is written. */
struct variable {
    const char *name, *c;
    enum dtype dtype;
    bool lanes; /* one for each element */
    bool used, assigned;
};

struct printer {
    struct cx *cx;
    const struct optim *optim;
    enum dtype dtype, computed; /* of the parameter; of the arithmetic: float32 or float64 */
    bool vector, fused;
    const struct optim_copy *copy;      /* NULL: none */
    struct optim_line lines[MAX_LINES]; /* that are printed; ends without a name */
    struct variable variables[MAX_NAMES];
    int count;
    const struct optim_state *states[OPTIM_MAX_STATES];
    int state_count;
};

static struct variable *add_variable(struct printer *p, const char *name, enum dtype dtype, bool lanes)
{
    assert(p->count < MAX_NAMES);
    p->variables[p->count] = (struct variable){.name = name, .c = name, .dtype = dtype, .lanes = lanes};
    return &p->variables[p->count++];
}

static struct variable *find_variable(struct printer *p, const char *name)
{
    for (int i = 0; i < p->count; i++)
        if (strcmp(p->variables[i].name, name) == 0)
            return &p->variables[i];
    return NULL;
}

static bool is_printed(const struct printer *p, const struct optim_line *line)
{
    return !line->when || optim_holds(p->cx, p->optim, line->when);
}

/* Of a kernel: what comes to the gradient of a copy, then the optimiser's. */
static void find_lines(struct printer *p)
{
    static const struct optim_line scaled = {"grad", "grad * unscale", NULL},
                                   normed = {"grad", "grad * clip", NULL},
                                   limited = {"grad", "minimum(maximum(grad, -clip), clip)", NULL};
    int count = 0;

    if (p->copy && p->copy->scaled)
        p->lines[count++] = scaled;
    if (p->copy && p->copy->normed)
        p->lines[count++] = normed;
    if (p->copy && p->copy->limited)
        p->lines[count++] = limited;
    for (const struct optim_line *line = p->optim->row->lines; line->name; line++)
        if (is_printed(p, line)) {
            assert(count + 1 < MAX_LINES);
            p->lines[count++] = *line;
        }
}

/* The right side of a line; marks what it uses. *dtype: of the value. */
static struct dag *build_line(struct printer *p, const struct optim_line *line, enum dtype *dtype)
{
    struct arena *arena = &p->cx->arena;
    struct dag *dag = dag_new(arena, p->count);
    struct elementwise_name names[MAX_NAMES];
    const bool *loads;

    for (int i = 0; i < p->count; i++)
        names[i] = (struct elementwise_name){p->variables[i].name,
                                             dag_load(arena, dag, i, p->variables[i].dtype)};
    dag->result = elementwise_expr(p->cx, dag, p->computed, line->value, names, p->count);
    *dtype = dag->nodes[dag->result].dtype;
    loads = dag_loads(arena, dag);
    for (int i = 0; i < p->count; i++)
        p->variables[i].used |= loads[i];
    return dag;
}

static const char *line_text(struct printer *p, const struct dag *dag)
{
    const char *inputs[MAX_NAMES];
    bool scalars[MAX_NAMES];
    struct identifiers names = {.arena = &p->cx->arena};
    struct expr_place place = {inputs, NULL, "", &names, scalars};

    for (int i = 0; i < p->count; i++) {
        inputs[i] = p->variables[i].c;
        scalars[i] = !p->variables[i].lanes;
    }
    return p->vector ? expr_vector_lanes(p->cx, dag, p->computed, &place)
                     : expr_scalar_piece(p->cx, dag, &place).text;
}

/* ---- the kernel ---------------------------------------------------------------------------------------- */

static const char *lane_prefix(const struct printer *p)
{
    return p->computed == DTYPE_FLOAT64 ? "modc_f64" : "modc_f32";
}

static const char *element_type(const struct printer *p)
{
    return p->vector ? lane_prefix(p) : dtype_rows[p->computed].c;
}

static bool is_half(const struct printer *p)
{
    return dtype_is_half(p->dtype);
}

static const char *half_name(const struct printer *p)
{
    return p->dtype == DTYPE_FLOAT16 ? "half" : "bfloat16";
}

/* A state beside a copy, which is as wide. */
static bool is_wide(const struct printer *p, const struct variable *variable)
{
    return p->copy && variable >= p->variables + 2;
}

static const char *state_type(const struct printer *p)
{
    return dtype_rows[p->copy ? DTYPE_FLOAT32 : p->dtype].c;
}

/* `params` holds what is called `param` where one element, or one vector, of it is meant. */
static void print_load(struct printer *p, struct text *out, const struct variable *variable)
{
    struct arena *arena = &p->cx->arena;
    const char *value;

    if (p->vector)
        value = arena_format(arena, "%s_load(%ss + i)", lane_prefix(p), variable->name);
    else if (p->copy && variable == p->variables)
        value = arena_format(arena, "modc_%s_kept(copies[i], params[i])", half_name(p));
    else if (is_wide(p, variable))
        value = arena_format(arena, "%ss[i]", variable->name);
    else if (is_half(p))
        value = arena_format(arena, "modc_%s_to_f32(%ss[i])", half_name(p), variable->name);
    else
        value = arena_format(arena, "%ss[i]", variable->name);
    text_printf(out, "        %s%s %s = %s;\n", variable->assigned ? "" : "const ", element_type(p),
                variable->name, value);
}

static void print_store(struct printer *p, struct text *out, const struct variable *variable)
{
    const char *name = variable->name;

    if (p->copy && variable == p->variables)
        text_add(out, "        copies[i] = param;\n");
    if (p->vector)
        text_printf(out, "        %s_store(%ss + i, %s);\n", lane_prefix(p), name, name);
    else if (is_half(p) && !is_wide(p, variable))
        text_printf(out, "        %ss[i] = modc_f32_to_%s(%s);\n", name, half_name(p), name);
    else
        text_printf(out, "        %ss[i] = %s;\n", name, name);
}

/* What happens to a vector or an element at i. Loads, lines, stores. */
static void print_body(struct printer *p, struct text *out)
{
    struct arena *arena = &p->cx->arena;
    int tensors = 2 + p->state_count;

    for (int i = 0; i < tensors; i++)
        if (p->variables[i].lanes)
            print_load(p, out, &p->variables[i]);
    text_add(out, "\n");
    for (const struct optim_line *line = p->lines; line->name; line++) {
        struct variable *variable = find_variable(p, line->name);
        enum dtype dtype;
        struct dag *dag = build_line(p, line, &dtype);

        emit_line(out, arena_format(arena, "        %s%s = %s;",
                                    variable < p->variables + tensors
                                        ? ""
                                        : arena_format(arena, "const %s ", element_type(p)),
                                    line->name, line_text(p, dag)));
    }
    text_add(out, "\n");
    for (int i = 0; i < tensors; i++)
        if (p->variables[i].assigned && i != 1)
            print_store(p, out, &p->variables[i]);
}

/* The names that lines may use, in the order of the kernel's arguments: param, grad, states of elements, then what the
 * lines make themselves, then scalars, which `step` has. */
static void declare_names(struct printer *p, const struct printer *step)
{
    p->state_count = 0;
    add_variable(p, "param", p->computed, true)->assigned = true;
    add_variable(p, "grad", p->computed, true);
    for (int i = 0; i < step->state_count; i++)
        if (!step->states[i]->scalar) {
            add_variable(p, step->states[i]->name, p->computed, true)->assigned = true;
            p->states[p->state_count++] = step->states[i];
        }
    find_lines(p);
    for (const struct optim_line *line = p->lines; line->name; line++) {
        struct variable *variable = find_variable(p, line->name);

        if (variable)
            variable->assigned = true;
        else
            add_variable(p, line->name, p->computed, true);
    }
    for (int i = 0; i < step->count; i++) {
        const struct variable *scalar = &step->variables[i];

        add_variable(p, scalar->name, scalar->dtype == DTYPE_BOOL ? DTYPE_BOOL : p->computed, false);
    }
}

static void print_kernel_comment(const struct printer *p, struct text *out)
{
    text_printf(out, "/* A step of %s of each element%s. */\n", p->optim->name,
                p->copy ? ", on its float32 copy" : "");
}

static void print_kernel(struct printer *p, struct text *out, const char *name)
{
    struct arena *arena = &p->cx->arena;
    struct text head = text_new(arena), vectors = text_new(arena), elements = text_new(arena);
    const char *type = dtype_rows[p->dtype].c,
               *lanes = p->computed == DTYPE_FLOAT64 ? "MODC_LANES64" : "MODC_LANES";

    p->vector = true;
    print_body(p, &vectors);
    p->vector = false;
    print_body(p, &elements);
    text_printf(&head, "static MODC_KERNEL void %s(%s *params, const %s *grads%s", name, type, type,
                p->copy ? ", float *copies" : "");
    for (int i = 0; i < p->state_count; i++)
        text_printf(&head, ", %s *%ss", state_type(p), p->states[i]->name);
    text_add(&head, ", size_t count");
    for (int i = 0; i < p->count; i++)
        if (!p->variables[i].lanes && p->variables[i].used)
            text_printf(&head, ", %s %s", dtype_rows[p->variables[i].dtype].c, p->variables[i].name);
    print_kernel_comment(p, out);
    emit_line(out, arena_format(arena, "%s)", head.data));
    if (is_half(p)) {
        text_printf(out, "{\n    for (size_t i = 0; i < count; i++) {\n%s    }\n}\n\n", elements.data);
        return;
    }
    text_printf(out,
                "{\n    size_t i = 0;\n\n"
                "    for (; i + %s <= count; i += %s) {\n%s    }\n"
                "    for (; i < count; i++) {\n%s    }\n}\n\n",
                lanes, lanes, vectors.data, elements.data);
}

/* The same for a GPU, which reads the scalars from its memory, since they change from step to step. */
static void print_cuda_kernel(struct printer *p, const struct nest_scene *scene, struct text *out,
                              const char *name)
{
    enum { THREADS = 256 };
    struct arena *arena = &p->cx->arena;
    struct text head = text_new(arena), body = text_new(arena), scalars = text_new(arena);
    const char *type = dtype_rows[p->dtype].c;
    int number = 0;

    p->vector = false;
    print_body(p, &body);
    text_printf(&head, "%s *params, const %s *grads%s", type, type, p->copy ? ", float *copies" : "");
    for (int i = 0; i < p->state_count; i++)
        text_printf(&head, ", %s *%ss", state_type(p), p->states[i]->name);
    text_add(&head, ", int64_t count, const double *scalars");
    for (int i = 0; i < p->count; i++) {
        const struct variable *scalar = &p->variables[i];

        if (scalar->lanes || !scalar->used)
            continue;
        text_printf(&scalars,
                    scalar->dtype == DTYPE_BOOL      ? "    const bool %s = scalars[%d] != 0;\n"
                    : scalar->dtype == DTYPE_FLOAT32 ? "    const float %s = (float)scalars[%d];\n"
                                                     : "    const double %s = scalars[%d];\n",
                    scalar->name, number++);
    }
    print_kernel_comment(p, out);
    emit_line(out, arena_format(arena, "static __global__ void __launch_bounds__(%d, 1) %s(%s)", THREADS,
                                name, head.data));
    assert(number <= MODC_LEFT_OUT);
    if (!scalars.data && !p->fused)
        text_add(&scalars, "    (void)scalars;\n");
    text_printf(out, "{\n%s%s", scalars.data ? scalars.data : "", number > 0 ? "\n" : "");
    if (p->fused)
        text_add(
            out,
            "    if (scalars[MODC_LEFT_OUT] != 0) /* the gradient is not finite, or a check has failed */\n"
            "        return;\n");
    text_printf(out,
                "    for (int64_t i = MODC_THREAD(%d); i < count; i += MODC_THREADS(%d)) {\n%s    }\n}\n\n",
                THREADS, THREADS, body.data);
    emit_line(out, launcher_head(p->cx, scene->launchers, scene->prefix, name, "stream", head.data));
    text_add(out, "{\n");
    emit_line(out, arena_format(arena, "    return MODC_LAUNCH_OVER(%s, count, %d, stream, %s);", name,
                                THREADS, parameter_names(p->cx, head.data)));
    text_add(out, "}\n\n");
}

/* ---- what calls it ------------------------------------------------------------------------------------- */

/* The lines that make the scalars: *lines. Names are hyper-parameters in their order, `step`, then scalars. */
static void make_scalars(struct printer *p, struct text *lines)
{
    struct arena *arena = &p->cx->arena;
    const char *hypers[OPTIM_MAX_HYPERS];
    double values[OPTIM_MAX_HYPERS];

    for (int i = 0, count = optim_hypers(p->cx, p->optim, hypers, values); i < count; i++)
        add_variable(p, hypers[i], DTYPE_FLOAT64, false);
    add_variable(p, "step", DTYPE_FLOAT64, false);
    if (p->copy && p->copy->scaled)
        add_variable(p, "unscale", DTYPE_FLOAT64, false)->c = "hyper[MODC_UNSCALE]";
    if (p->copy && (p->copy->normed || p->copy->limited))
        add_variable(p, "clip", DTYPE_FLOAT64, false)->c = "hyper[MODC_CLIP]";
    p->state_count = optim_states(p->cx, p->optim, p->states);
    for (int i = 0; i < p->state_count; i++)
        if (p->states[i]->scalar)
            add_variable(p, p->states[i]->name, DTYPE_FLOAT64, false)->c = arena_format(arena, "%ss[0]",
                                                                                        p->states[i]->name);
    for (const struct optim_line *line = p->optim->row->scalars; line->name; line++) {
        struct variable *state = find_variable(p, line->name);
        enum dtype dtype;
        struct dag *dag;

        if (!is_printed(p, line))
            continue;
        dag = build_line(p, line, &dtype);
        emit_line(lines, arena_format(arena, "    const %s %s = %s;", dtype_rows[dtype].c, line->name,
                                      line_text(p, dag)));
        if (state)
            state->c = line->name;
        else
            add_variable(p, line->name, dtype, false);
    }
}

/* The scalars are made: the states of them that the step changes are written. */
static void print_scalar_states(const struct printer *p, struct text *out, const struct printer *kernel)
{
    for (int i = 0; i < p->state_count; i++)
        if (p->states[i]->scalar)
            text_printf(out, "    %ss[0] = %s%s;\n", p->states[i]->name,
                        kernel->computed == DTYPE_FLOAT32 ? "(float)" : "", p->states[i]->name);
}

/* From the hyper-parameters that are used to the lines that make scalars. */
static void print_scalars(struct printer *p, struct text *out, const struct printer *kernel,
                          const char *scalars)
{
    text_add(out, "{\n");
    for (int i = 0; strcmp(p->variables[i].name, "step") != 0; i++)
        if (p->variables[i].used)
            text_printf(out, "    const double %s = hyper[%d];\n", p->variables[i].name, i);
    for (int i = 0; i < p->state_count; i++)
        if (p->states[i]->scalar)
            text_printf(out, "    %s *const %ss = state[%d];\n", dtype_rows[kernel->computed].c,
                        p->states[i]->name, i);
    text_printf(out, "%s\n", scalars);
    if (!find_variable(p, "step")->used)
        text_add(out, "    (void)step;\n");
}

/* How the step calls what the kernel's scalar is made of. */
static const char *step_variable_text(struct printer *p, const char *name)
{
    const struct variable *variable = find_variable(p, name);

    return strncmp(variable->c, "hyper[", 6) == 0 ? variable->c : name;
}

/* What the kernel gets behind the gradient. */
static const char *copy_argument(const struct printer *p)
{
    return p->copy ? ", state[MODC_COPY]" : "";
}

/* For a GPU: a modc_scalars, which the host runs, and a modc_launch_update. */
static void print_cuda_step(struct printer *p, struct text *out, const char *model, const char *name,
                            const struct printer *kernel, const char *scalars)
{
    struct arena *arena = &p->cx->arena;
    struct text values = text_new(arena), call = text_new(arena);
    bool states = false;
    int number = 0;

    for (int i = 0; i < kernel->count; i++) {
        const struct variable *scalar = &kernel->variables[i];

        if (scalar->lanes || !scalar->used)
            continue;
        find_variable(p, scalar->name)->used = true;
        text_printf(&values, "    scalars[%d] = %s;\n", number++, step_variable_text(p, scalar->name));
    }
    text_printf(out, "/* What a step of %s of one parameter reads. hyper:", p->optim->name);
    for (int i = 0; strcmp(p->variables[i].name, "step") != 0; i++)
        text_printf(out, "%s %s", i ? "," : "", p->variables[i].name);
    text_add(out, ". */\n");
    emit_line(out,
              arena_format(arena,
                           "static void %s_scalars(const double *hyper, double step, void *const *state, "
                           "double *scalars)",
                           name));
    print_scalars(p, out, kernel, scalars);
    for (int i = 0; i < p->state_count; i++)
        states |= p->states[i]->scalar;
    if (!states)
        text_add(out, "    (void)state;\n");
    print_scalar_states(p, out, kernel);
    text_printf(out, "%s}\n\n", values.data ? values.data : "    (void)hyper;\n    (void)scalars;\n");
    text_printf(&call, "    return %s_%s(stream, param, grad%s", model, name, copy_argument(p));
    states = p->copy != NULL;
    for (int i = 0; i < p->state_count; i++)
        if (!p->states[i]->scalar) {
            text_printf(&call, ", state[%d]", i);
            states = true;
        }
    emit_line(out,
              arena_format(arena,
                           "static int %s_launch(void *stream, void *param, const void *grad, void *const "
                           "*state, size_t count, const double *scalars)",
                           name));
    text_printf(out, "{\n%s", states ? "" : "    (void)state;\n");
    emit_line(out, arena_format(arena, "%s, (int64_t)count, scalars);", call.data));
    text_add(out, "}\n\n");
}

/* The modc_update that calls the kernel. */
static void print_step(struct printer *p, struct text *out, const char *name, const struct printer *kernel,
                       const char *scalars)
{
    struct arena *arena = &p->cx->arena;
    struct text call = text_new(arena);

    text_printf(out, "/* A step of %s of one parameter. hyper:", p->optim->name);
    for (int i = 0; strcmp(p->variables[i].name, "step") != 0; i++)
        text_printf(out, "%s %s", i ? "," : "", p->variables[i].name);
    text_add(out, ". */\n");
    emit_line(out, arena_format(
                       arena,
                       "static void %s_step(void *param, const void *grad, void *const *state, size_t count, "
                       "const double *hyper, double step)",
                       name));
    text_printf(&call, "    %s(param, grad%s", name, copy_argument(p));
    for (int i = 0; i < p->state_count; i++)
        if (!p->states[i]->scalar)
            text_printf(&call, ", state[%d]", i);
    text_add(&call, ", count");
    for (int i = 0; i < kernel->count; i++) {
        const struct variable *scalar = &kernel->variables[i];

        if (scalar->lanes || !scalar->used)
            continue;
        find_variable(p, scalar->name)->used = true;
        text_printf(&call, ", %s%s", scalar->dtype == DTYPE_FLOAT32 ? "(float)" : "",
                    step_variable_text(p, scalar->name));
    }
    print_scalars(p, out, kernel, scalars);
    if (p->state_count == 0 && !p->copy)
        text_add(out, "    (void)state;\n");
    print_scalar_states(p, out, kernel);
    emit_line(out, arena_format(arena, "%s);", call.data));
    text_add(out, "}\n\n");
}

void emit_optim_step(struct cx *cx, struct text *out, const struct optim *optim, enum dtype dtype,
                     const char *name, bool fused, const struct optim_copy *copy,
                     const struct nest_scene *scene, struct text *kernels)
{
    struct printer kernel = {
        .cx = cx, .optim = optim, .fused = fused, .copy = copy, .dtype = dtype_part(dtype)};
    struct printer step = {
        .cx = cx, .optim = optim, .copy = copy, .dtype = kernel.dtype, .computed = DTYPE_FLOAT64};
    struct text scalars = text_new(&cx->arena);

    kernel.computed = dtype == DTYPE_FLOAT64 ? DTYPE_FLOAT64 : DTYPE_FLOAT32;
    make_scalars(&step, &scalars);
    declare_names(&kernel, &step);
    if (scene) {
        print_cuda_kernel(&kernel, scene, kernels, name);
        print_cuda_step(&step, out, scene->prefix, name, &kernel, scalars.data);
        return;
    }
    print_kernel(&kernel, out, name);
    print_step(&step, out, name, &kernel, scalars.data);
}
