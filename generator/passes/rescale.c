/* rescale.c - fixed-point factors on chips that have instructions for them: where weights are part of the program, multiplier and shift
 * take the form of note [rescaling] in runtime/modc_simd_scalar.h: those of channels once, where they are packed, numbers at once.
 * Apart from integer.c, since specs of integers have them, too. */
#include "graph/make.h"
#include "passes/pass.h"
#include "passes/toolkit.h"

enum factor { MULTIPLIER, SHIFT, FACTORS };

enum { LEAST_MULTIPLIER = 1 << 30, LEAST_SHIFT = 1, MOST_SHIFT = 31 };

/* An input of the map that can be another one: what is known when weights are, and is read here alone. */
static bool is_replaceable(const struct graph *graph, const struct op *map, const int *uses, int node)
{
    const struct dag_node *load = &map->dag->nodes[node];

    return load->prim == PRIM_LOAD && map->inputs[load->input]->dtype == DTYPE_INT32 &&
           value_is_static(graph, map->inputs[load->input]) &&
           value_has_constant_dims(map->inputs[load->input]) && uses[node] == 1;
}

/* Whether the node multiplies by such factors; which nodes they are. */
static bool find_factors(const struct graph *graph, const struct op *map, int node, int *factors)
{
    const struct dag *dag = map->dag;
    const struct dag_node *quotient = &dag->nodes[node], *product;
    const int *uses;

    if (quotient->prim != PRIM_SHIFT_NEAR)
        return false;
    uses = dag_count_uses(&graph->cx->arena, dag);
    product = &dag->nodes[quotient->args[0]];
    if (product->prim != PRIM_MUL_HIGH || uses[quotient->args[0]] != 1)
        return false;
    factors[MULTIPLIER] = product->args[1];
    factors[SHIFT] = quotient->args[1];
    if (dag->nodes[factors[MULTIPLIER]].prim == PRIM_CONST && dag->nodes[factors[SHIFT]].prim == PRIM_CONST) {
        const int64_t multiplier = dag->nodes[factors[MULTIPLIER]].integer,
                      shift = dag->nodes[factors[SHIFT]].integer;

        return multiplier >= LEAST_MULTIPLIER && shift >= LEAST_SHIFT && shift <= MOST_SHIFT;
    }
    return is_replaceable(graph, map, uses, factors[MULTIPLIER]) &&
           is_replaceable(graph, map, uses, factors[SHIFT]);
}

/* ---- factors in their form ------------------------------------------------------------------------------------- */

/* The factor `which` of the two nodes' form. */
static int formed(struct nodes n, const int *factors, enum factor which)
{
    const int multiplier = factors[MULTIPLIER], shift = factors[SHIFT];
    const int fits = node_two(n, PRIM_AND, node_with(n, PRIM_GE, multiplier, LEAST_MULTIPLIER),
                              node_two(n, PRIM_AND, node_with(n, PRIM_GE, shift, LEAST_SHIFT),
                                       node_with(n, PRIM_LE, shift, MOST_SHIFT)));
    const int left = node_two(n, PRIM_SUB, dag_integer(n.arena, n.dag, DTYPE_INT32, 32), shift);
    int fast, other;

    if (which == MULTIPLIER) {
        fast = node_with(n, PRIM_MUL, multiplier, 2); /* which wraps */
        other = multiplier;
    } else {
        fast = node_two(n, PRIM_POW, dag_integer(n.arena, n.dag, DTYPE_INT32, 2), left);
        fast = dag_prim(n.arena, n.dag, PRIM_NEG, DTYPE_INT32, fast, -1, -1);
        other = node_with(n, PRIM_AND, shift, 31);
    }
    return dag_prim(n.arena, n.dag, PRIM_SELECT, DTYPE_INT32, fits, fast, other);
}

static struct value *formed_input(struct graph *graph, int *at, const struct op *map, const int *factors,
                                  enum factor which)
{
    const struct nodes n = nodes_new(graph, FACTORS);
    const int loads[FACTORS] = {dag_load(n.arena, n.dag, MULTIPLIER, DTYPE_INT32),
                                dag_load(n.arena, n.dag, SHIFT, DTYPE_INT32)};
    struct value *inputs[FACTORS];

    for (int i = 0; i < FACTORS; i++)
        inputs[i] = map->inputs[map->dag->nodes[factors[i]].input];
    n.dag->result = formed(n, loads, which);
    return make_map(site_by(graph, at, map), which == MULTIPLIER ? "multiplier" : "shift", n.dag, inputs,
                    FACTORS);
}

/* ---- the pass --------------------------------------------------------------------------------------------------- */

/* `dag` with node `at` as a RESCALE by these factors. */
static struct dag *with_rescale(struct arena *arena, const struct dag *dag, int at, const int *factors)
{
    struct nodes n = {arena, dag_new(arena, dag->input_count)};
    int *to = ARENA_ARRAY(arena, dag->count, int);

    for (int i = 0; i < dag->count; i++) {
        struct dag_node node = dag->nodes[i];

        for (int k = 0; k < prim_rows[node.prim].arity; k++)
            node.args[k] = to[node.args[k]];
        if (i == at) {
            const int own[FACTORS] = {to[factors[MULTIPLIER]], to[factors[SHIFT]]};
            const bool known = dag->nodes[factors[SHIFT]].prim == PRIM_CONST;

            to[i] = dag_prim(arena, n.dag, PRIM_RESCALE, DTYPE_INT32,
                             to[dag->nodes[dag->nodes[at].args[0]].args[0]],
                             known ? formed(n, own, MULTIPLIER) : own[MULTIPLIER],
                             known ? formed(n, own, SHIFT) : own[SHIFT]);
        } else {
            to[i] = dag_add(arena, n.dag, node);
        }
    }
    n.dag->result = to[dag->result];
    dag_trim(arena, n.dag);
    return n.dag;
}

static void rescale(struct graph *graph, int *at, struct op *map, int node, const int *factors)
{
    if (map->dag->nodes[factors[SHIFT]].prim != PRIM_CONST) {
        struct value *inputs[FACTORS];
        const int first = *at;

        for (int i = 0; i < FACTORS; i++)
            inputs[i] = formed_input(graph, at, map, factors, (enum factor)i);
        for (int i = 0; i < FACTORS; i++)
            graph_input(graph, map, map->dag->nodes[factors[i]].input, inputs[i]);
        pass_prepare_from(graph, first, map);
    }
    map->dag = with_rescale(&graph->cx->arena, map->dag, node, factors);
}

void pass_rescale(struct graph *graph)
{
    const struct settings *settings = &graph->program->settings;

    if (!settings->dsp || !settings->embeds || !settings->pack || settings->backend != &backends[DEVICE_CPU])
        return;
    for (int i = 0; i < graph->op_count; i++) {
        struct op *op = graph->ops[i];

        if (op->code != GRAPH_OP_MAP || value_is_static(graph, op->outputs[0]))
            continue;
        for (int node = 0; node < op->dag->count; node++) {
            int factors[FACTORS];

            if (find_factors(graph, op, node, factors)) {
                int at = graph_position(graph, op);

                rescale(graph, &at, op, node, factors);
                node = -1; /* others are elsewhere now */
            }
        }
        i = graph_position(graph, op);
    }
    graph_sweep_unused(graph);
}
