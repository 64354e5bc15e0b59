/* lower_loss.c - the loss of training: forward, and what `training:` says of its results, as an entry of its own. */
#include <string.h>

#include "lower/lower_parts.h"

/* The target of a loss in the short form, as an input: of the output's dims and type, or class indices for all but the axis of
 * classes. */
static struct ev lower_target(struct eval *eval, struct module *criterion, const struct spec_input *spec,
                              const struct ev *result)
{
    static const char *const of_classes[] = {"CrossEntropyLoss", "NLLLoss", "NLLLoss2d", "MultiMarginLoss"};
    const struct value *output = result->tensor;
    struct graph *graph = eval->graph;
    const struct dim *dims[MAX_DIMS];
    enum dtype dtype = strcmp(criterion->class_name, "MultiLabelMarginLoss") == 0 ? DTYPE_INT64
                                                                                  : output->dtype;
    struct op *op = op_new(eval, GRAPH_OP_INPUT, "target", NULL, 0);
    int axis = output->ndim, ndim = 0;
    struct value *value;

    for (size_t i = 0; i < sizeof of_classes / sizeof *of_classes; i++) {
        if (strcmp(criterion->class_name, of_classes[i]) != 0)
            continue;
        axis = output->ndim > 1;
        dtype = DTYPE_INT64;
    }
    for (int i = 0; i < output->ndim; i++)
        if (i != axis)
            dims[ndim++] = output->dims[i];
    op->loc = spec->loc;
    op->input.index = graph->input_count;
    op->input.complex = result->kind == EV_COMPLEX;
    value = graph_value(graph, op, dtype, ndim, dims);
    value->name = spec->name;
    graph_append(graph, op);
    ARENA_PUSH(&eval->cx->arena, graph->inputs, graph->input_count, value);
    return op->input.complex ? ev_complex(spec->loc, value) : ev_tensor(spec->loc, value);
}

/* loss(output, target) */
static struct ev call_criterion(struct eval *eval, const struct spec_training *training,
                                struct module *criterion, const struct spec_input *target,
                                const struct ev *result)
{
    struct ev args[2] = {*result};
    const char *names[2] = {NULL, NULL};
    struct loc locs[2] = {training->loss_loc, training->loss_loc};
    struct call call = {.loc = training->loss_loc, .args = args, .names = names, .locs = locs, .count = 2};
    struct ev out;

    if (criterion->faulty)
        return ev_bad(training->loss_loc);
    if (!ev_has_value(result)) {
        diag_error(eval->cx, training->loss_loc, "the model returns several values, of which %s takes one",
                   criterion->class_name);
        diag_hint(eval->cx, "write the loss as statements over what forward returns");
        return ev_bad(training->loss_loc);
    }
    args[1] = lower_target(eval, criterion, target, result);
    args[1].loc = training->loss_loc;
    eval->call = NULL;
    out = lower_layer(eval, criterion, &call);
    return out;
}

/* The names of what forward returned; those that it did not name are output, output_1. */
static void bind_results(struct eval *eval, struct scope *scope, const struct expr *written,
                         const struct ev *result)
{
    struct graph *graph = eval->graph;
    struct value **values = NULL;
    int count = 0, named = 0, complex_count = 0;
    bool *complex = NULL;

    lower_gather(eval, result, &values, &count);
    lower_gather_complex(eval, result, &complex, &complex_count);
    graph->output_count = count;
    graph->output_names = ARENA_ARRAY(&eval->cx->arena, count + 1, const char *);
    lower_name_outputs(graph, written, result, &named);
    for (int i = 0; i < count; i++)
        scope_bind(eval, scope, graph->output_names[i],
                   complex[i] ? ev_complex(values[i]->loc, values[i]) : ev_tensor(values[i]->loc, values[i]));
    graph->output_count = 0;
}

struct ev lower_loss(struct lower *lower, struct scope *scope, const struct expr *returned, struct ev result,
                     const struct ev *args)
{
    struct eval *eval = &lower->eval;
    const struct entry *entry = lower->entry;
    const struct entry_source *source = lower->source;
    const struct spec_training *training = lower->program->tree->spec->training;
    struct scope own = {.outer = scope};
    struct ev loss;

    eval->call = NULL;
    if (training->criterion) {
        loss = call_criterion(eval, training, source->criterion, source->inputs[entry->input_count - 1],
                              &result);
    } else {
        for (int i = 0; i < entry->model_count; i++)
            scope_bind(eval, &own, source->inputs[i]->name, args[i]);
        bind_results(eval, &own, returned, &result);
        for (int i = entry->model_count; i < entry->input_count; i++)
            scope_bind(eval, &own, source->inputs[i]->name, args[i]);
        loss = eval_statements(eval, &own, training->loss, training->loss_count);
    }
    if (loss.kind == EV_BAD)
        return loss;
    if (loss.kind != EV_TENSOR || !dtype_is_float(loss.tensor->dtype) || loss.tensor->ndim != 0) {
        diag_error(eval->cx, training->loss_loc, "a loss is one floating number, found %s%s%s",
                   ev_kind_text(&loss), loss.kind == EV_TENSOR ? " " : "",
                   loss.kind != EV_TENSOR ? ""
                   : loss.tensor->ndim == 0
                       ? dtype_rows[loss.tensor->dtype].name
                       : shape_text(&eval->cx->arena, loss.tensor->ndim, loss.tensor->dims));
        if (loss.kind == EV_NONE)
            diag_hint(eval->cx, "end it with '- return NAME'");
        else if (loss.kind == EV_TENSOR && loss.tensor->ndim > 0)
            diag_hint(eval->cx, "reduce it, as by .mean()");
        return ev_bad(training->loss_loc);
    }
    return loss;
}

void lower_loss_entry(struct program *program, struct module_tree *tree)
{
    const struct spec *spec = tree->spec;
    const struct spec_training *training = spec->training;
    struct arena *arena = &program->cx->arena;
    struct entry *entry = &program->entries[program->entry_count];
    struct entry_source source = {.tree = tree};
    int more = training->input_count + (training->criterion != NULL);

    if (!lower_read_entry(program, entry, &source, spec->root.forward))
        return;
    entry->name = "loss";
    entry->loss = true;
    source.inputs = ARENA_ARRAY(arena, entry->model_count + more + 1, const struct spec_input *);
    for (int i = 0; i < entry->model_count; i++)
        source.inputs[i] = &spec->inputs[i];
    for (int i = 0; i < training->input_count; i++)
        source.inputs[entry->model_count + i] = &training->inputs[i];
    if (training->criterion) {
        struct spec_input *target = ARENA_NEW(arena, struct spec_input);

        source.criterion = module_criterion(program->cx, tree);
        *target = (struct spec_input){.name = "target", .loc = training->loss_loc};
        source.inputs[entry->model_count + more - 1] = target;
    }
    entry->input_count = entry->model_count + more;
    program->entry_count++;
    for (int training_mode = 0; training_mode < 2; training_mode++) {
        lower_variants(program, entry, &source, training_mode, false);
        if (diag_errors(program->cx) == 0)
            lower_variants(program, entry, &source, training_mode, true);
    }
}
