/* layers.c - lookup in the layer and function tables. */
#include "layers/layers.h"

#include <string.h>

#include "base/text.h"
#include "ops/elementwise.h"

extern const struct layer_row linear_rows[], conv_rows[], pooling_rows[], norm_rows[], activation_rows[],
    dropout_rows[], flatten_rows[], container_rows[], lazy_rows[], return_rows[], sparse_rows[],
    padding_rows[], fold_rows[], shuffle_rows[], distance_rows[], upsampling_rows[], rnn_rows[], loss_rows[],
    transformer_rows[], quantization_rows[], extern_rows[];

const struct layer_family layer_families[] = {
    {"containers", container_rows},
    {"linear", linear_rows},
    {"sparse", sparse_rows},
    {"convolution", conv_rows},
    {"padding", padding_rows},
    {"folding", fold_rows},
    {"pooling", pooling_rows},
    {"normalisation", norm_rows},
    {"activation", activation_rows},
    {"dropout", dropout_rows},
    {"shape", flatten_rows},
    {"shuffling", shuffle_rows},
    {"upsampling", upsampling_rows},
    {"recurrent", rnn_rows},
    {"attention", transformer_rows},
    {"distances", distance_rows},
    {"losses", loss_rows},
    {"lazy", lazy_rows},
    {"returns", return_rows},
    {"quantisation", quantization_rows},
    {"bodies in C", extern_rows},
    {NULL, NULL},
    {NULL, NULL},
};

extern const struct function_row product_functions[], linalg_functions[], conv_functions[], pad_functions[],
    fold_functions[], pool_functions[], norm_functions[], quantization_functions[], activation_functions[],
    random_functions[], choose_functions[], index_functions[], write_functions[], shape_functions[],
    convert_functions[], reduce_functions[], order_functions[], create_functions[], math_functions[],
    special_functions[], arithmetic_functions[], join_functions[], arrange_functions[], combine_functions[],
    distance_functions[], shuffle_functions[], resample_functions[], einsum_functions[],
    attention_functions[], transformer_functions[], rnn_functions[], loss_functions[], return_functions[],
    fft_functions[], complex_functions[], grid_functions[], box_functions[], extern_functions[],
    generation_functions[], second_names[];

const struct function_family function_families[] = {
    {"products", product_functions},
    {"linear algebra", linalg_functions},
    {"convolution", conv_functions},
    {"padding", pad_functions},
    {"folding", fold_functions},
    {"pooling", pool_functions},
    {"normalising", norm_functions},
    {"quantising", quantization_functions},
    {"activations", activation_functions},
    {"random", random_functions},
    {"choosing", choose_functions},
    {"indexing", index_functions},
    {"writing", write_functions},
    {"shapes", shape_functions},
    {"conversions", convert_functions},
    {"reductions", reduce_functions},
    {"order", order_functions},
    {"tensors", create_functions},
    {"elementwise", math_functions},
    {"special functions", special_functions},
    {"arithmetic", arithmetic_functions},
    {"joining", join_functions},
    {"arranging", arrange_functions},
    {"combining", combine_functions},
    {"distances", distance_functions},
    {"shuffling", shuffle_functions},
    {"resampling", resample_functions},
    {"contractions", einsum_functions},
    {"attention", attention_functions},
    {"transformers", transformer_functions},
    {"recurrent", rnn_functions},
    {"losses", loss_functions},
    {"returns", return_functions},
    {"bodies in C", extern_functions},
    {"Fourier transforms", fft_functions},
    {"complex tensors", complex_functions},
    {"sampling", grid_functions},
    {"boxes", box_functions},
    {"generation", generation_functions},
    {"second names", second_names},
    {NULL, NULL},
    {NULL, NULL},
};

const struct layer_row *layer_find(const char *name)
{
    for (const struct layer_family *family = layer_families; family->rows; family++)
        for (const struct layer_row *row = family->rows; row->name; row++)
            if (strcmp(row->name, name) == 0)
                return row;
    return NULL;
}

const struct layer_row *layer_find_qat(const char *name)
{
    for (const struct layer_family *family = layer_families; family->rows; family++)
        for (const struct layer_row *row = family->rows; row->name; row++)
            if (strncmp(row->name, "qat.", 4) == 0 && strcmp(row->name + 4, name) == 0)
                return row;
    return NULL;
}

const char *layer_signature(struct cx *cx, const struct layer_row *row)
{
    struct text text = text_new(&cx->arena);

    text_printf(&text, "%s(%s", row->name, row->container == LAYER_PLAIN ? "" : "...");
    for (int i = 0; i < LAYER_MAX_ARGS && row->args[i].name; i++) {
        const struct layer_arg *arg = &row->args[i];

        text_printf(&text, "%s%s%s%s%s", i ? ", " : "",
                    arg->keyword && (i == 0 || !arg[-1].keyword) ? "*, " : "", arg->name,
                    arg->value ? "=" : "", arg->value ? arg->value : "");
    }
    text_add(&text, ")");
    return text.data;
}

const char *const *layer_names(struct cx *cx, int *count)
{
    const char **names = NULL;

    *count = 0;
    for (const struct layer_family *family = layer_families; family->rows; family++)
        for (const struct layer_row *row = family->rows; row->name; row++)
            ARENA_PUSH(&cx->arena, names, *count, row->name);
    for (int i = 0; i < elementwise_row_count; i++)
        if (elementwise_rows[i].module)
            ARENA_PUSH(&cx->arena, names, *count, elementwise_rows[i].module);
    return names;
}

static bool row_named(const struct function_row *row, const char *name)
{
    size_t length = 0;

    while (name[length] && row->signature[length] == name[length])
        length++;
    return !name[length] && row->signature[length] == '(';
}

const struct function_row *function_find(const char *name, unsigned flags)
{
    for (const struct function_family *family = function_families; family->rows; family++)
        for (const struct function_row *row = family->rows; row->signature; row++)
            if ((row->flags & flags) && row_named(row, name))
                return row;
    return NULL;
}

unsigned function_flags(const struct elementwise_row *line)
{
    unsigned method = line->flags & ELEMENTWISE_METHOD ? FUNCTION_METHOD : 0;

    if (line->flags & ELEMENTWISE_HIDDEN)
        return FUNCTION_HIDDEN | method;
    if (!(line->flags & ELEMENTWISE_TORCH))
        return FUNCTION_FUNCTIONAL | method;
    return FUNCTION_TORCH | (line->flags & ELEMENTWISE_FUNCTIONAL ? FUNCTION_FUNCTIONAL : 0) | method;
}

const char *const *function_names(struct cx *cx, unsigned flags, int *count)
{
    const char **names = NULL;

    *count = 0;
    for (const struct function_family *family = function_families; family->rows; family++)
        for (const struct function_row *row = family->rows; row->signature; row++)
            if ((row->flags & flags) && (!(row->flags & FUNCTION_IN_PLACE) || flags == FUNCTION_METHOD))
                ARENA_PUSH(&cx->arena, names, *count,
                           arena_copy(&cx->arena, row->signature,
                                      (size_t)(strchr(row->signature, '(') - row->signature)));
    for (int i = 0; i < elementwise_row_count; i++)
        if (function_flags(&elementwise_rows[i]) & flags)
            ARENA_PUSH(&cx->arena, names, *count, elementwise_rows[i].name);
    return names;
}

bool module_holds_parameters(const struct module *module)
{
    return module->layer && (module->layer->container == LAYER_PARAMETER_LIST ||
                             module->layer->container == LAYER_PARAMETER_DICT);
}

bool module_folds(const struct module *module)
{
    return module->layer && module->layer->container == LAYER_MODULE_LIST;
}
