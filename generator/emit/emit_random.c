/* emit_random.c - loop nests over random numbers. */
#include "emit/emit_loops.h"

/* y = tail(u) at the index that the loops are at, for the word of its element. */
static void store_random(struct loops *k, struct value_source *tail, const char *word)
{
    const char *number = arena_format(k->arena, "(float)(%s >> 8) * 5.96046448e-08f", word);
    struct piece value;

    tail->reduced = number;
    if (!dag_is_identity(tail->dag)) {
        tail->reduced = names_new(&k->names, "uniform");
        declare(k, "const float %s = %s;", tail->reduced, number);
    }
    value = tail->function ? scalar_call(k, tail) : scalar_value(k, tail);
    statement(k, "%s = %s;", element(k, 0), stored_value(k, value.text));
}

void emit_random_kernel(struct cx *cx, struct text *out, const char *name, const char *comment,
                        struct nest nest, const struct dag *tail, const char *function,
                        const struct nest_scene *scene)
{
    const struct dag *dag = tail ? tail : dag_identity(&cx->arena, DTYPE_FLOAT32);
    struct loops k = begin_kernel(cx, name, nest, dag, NULL, NULL, 0, scene);
    struct value_source source = {.dag = dag, .first = 1, .reduced = "", .function = function};
    const bool cuda = scene->device ==
                      DEVICE_CUDA; /* a call that is repeated draws others: it reads the numbers */
    struct random_names random = {names_new(&k.names, cuda ? "random" : "seed"),
                                  names_new(&k.names, cuda ? "behind" : "counter"),
                                  names_new(&k.names, "stream")};
    const char *seed = cuda ? arena_format(k.arena, "%s->seed", random.seed) : random.seed;
    const char *counter = cuda ? arena_format(k.arena, "(%s->counter - %s)", random.seed, random.counter)
                               : random.counter;
    const char *words = names_new(&k.names, "words"), *key;
    int64_t count;

    for (int i = 1; i < dag->input_count; i++)
        compute_input(&k, i, dag, i);
    compute_result(&k, dag);
    key = arena_format(k.arena, "%s ^ ((uint64_t)%s << 32)", counter, random.stream);
    if (!cuda && k.nest.ndim == 1 && stride_is(&k, 0, 0, 1)) {
        const char *end = dim_c(&k, k.nest.dims[0]), *i, *j;

        open_block(&k, "%s", "");
        i = names_new(&k.names, "i");
        k.block->head = arena_format(k.arena, "for (int %s = 0; %s < %s; %s += 4)", i, i, end, i);
        declare(&k, "uint32_t %s[4];", words);
        statement(&k, "modc_philox(%s, (uint64_t)%s / 4, %s, %s);", random.seed, i, key, words);
        open_block(&k, "%s", "");
        j = names_new(&k.names, "j");
        if (dim_is_const(k.nest.dims[0], &count) && count % 4 == 0)
            k.block->head = arena_format(k.arena, "for (int %s = 0; %s < 4; %s++)", j, j, j);
        else
            k.block->head = arena_format(k.arena, "for (int %s = 0; %s < 4 && %s < %s - %s; %s++)", j, j, j,
                                         end, i, j);
        k.index[0] = arena_format(k.arena, "%s + %s", i, j);
        store_random(&k, &source, arena_format(k.arena, "%s[%s]", words, j));
        close_blocks(&k, 2);
    } else { /* an input that is broadcast, one element, or a thread for each */
        const char *position = NULL, *offset;

        open_all_places(&k, k.nest.ndim);
        offset = operand_offset(&k, 0);
        if (*offset) {
            position = names_new(&k.names, "position");
            declare(&k, "const int %s = %s;", position, offset);
        }
        declare(&k, "uint32_t %s[4];", words);
        if (position)
            statement(&k, "modc_philox(%s, (uint64_t)%s / 4, %s, %s);", seed, position, key, words);
        else
            statement(&k, "modc_philox(%s, 0, %s, %s);", seed, key, words);
        store_random(&k, &source,
                     !position ? arena_format(k.arena, "%s[0]", words)
                     : cuda    ? arena_format(k.arena, "modc_word(%s, %s)", words, position)
                               : arena_format(k.arena, "%s[%s %% 4]", words, position));
        close_all_places(&k, k.nest.ndim);
    }
    end_kernel(&k, out, comment, &random);
}
