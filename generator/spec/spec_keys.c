/* spec_keys.c - the keys of a spec, in one table: where each may stand, what stands behind it, what one should know of it,
 * and who reads it. The schema, the language reference and what is said of unknown keys come from here too. */
#include "spec/spec_reader.h"

#include <string.h>

static void read_modules(struct reader *r, const struct node *key, const struct node *node)
{
    r->modules_loc = key->loc;
    spec_read_class_modules(r, &r->spec->root, &r->attributes, key, node);
}

static void read_tensors(struct reader *r, const struct node *key, const struct node *node)
{
    spec_read_tensor_section(r, &r->spec->root, &r->attributes, key, node);
}

/* Each key with what one should know of it. */
static const struct {
    struct spec_key key;
    spec_key_reader *read; /* of a spec; NULL: not yet */
} keys[] = {
    {{SPEC_IN_MODEL, "modc", SPEC_VALUE_VERSION, "the version of the spec's format", "1"}, spec_read_version},
    {{SPEC_IN_MODEL, "model", SPEC_VALUE_NAME, "the model's name, the prefix of everything in C", "policy"},
     spec_read_model},
    {{SPEC_IN_MODEL, "dtype", SPEC_VALUE_DTYPES,
      "the type that the model computes in; a list gives a variant for each", "float32"},
     spec_read_dtypes},
    {{SPEC_IN_MODEL, "device", SPEC_VALUE_DEVICES, "where the model runs; a list gives a variant for each",
      "cpu"},
     spec_read_devices},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "constants", SPEC_VALUE_CONSTANTS,
      "names for values; each may use the ones above it, and in a class its arguments", "{hidden: 64}"},
     spec_read_constants},
    {{SPEC_IN_MODEL, "sizes", SPEC_VALUE_SIZES,
      "dimensions that are chosen at run time, with their maximum; `require` lists what every call meets",
      "{batch: 256}"},
     spec_read_sizes},
    {{SPEC_IN_MODEL, "inputs", SPEC_VALUE_INPUTS, "the model's inputs, in the order of the arguments in C",
      "{observation: [batch, 4]}"},
     spec_read_inputs},
    {{SPEC_IN_MODEL, "functions", SPEC_VALUE_FUNCTIONS,
      "functions of statements, inlined where they are called", "{double(x): return 2 * x}"},
     spec_read_functions},
    {{SPEC_IN_MODEL, "classes", SPEC_VALUE_CLASSES,
      "modules of your own, named where a layer's name may stand",
      "{'Block(dim)': {modules: ['Linear(dim, dim)', ReLU()]}}"},
     spec_read_classes},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "modules", SPEC_VALUE_MODULES,
      "the children: a list is a Sequential, a mapping names them", "{fc: 'Linear(4, 2)'}"},
     read_modules},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "parameters", SPEC_VALUE_PARAMETERS,
      "tensors that are trained; keys of the state_dict", "{scale: {shape: [4], init: ones}}"},
     read_tensors},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "buffers", SPEC_VALUE_BUFFERS,
      "tensors that are not trained; keys of the state_dict", "{mean: {shape: [4]}}"},
     read_tensors},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "state", SPEC_VALUE_STATES,
      "tensors of a context: hidden states, caches, counters; never in the state_dict",
      "{seen: {shape: [], dtype: int64}}"},
     read_tensors},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "forward", SPEC_VALUE_STATEMENTS,
      "what a call computes; `forward(x, y)` names the arguments, which a class always does",
      "[return fc(x)]"},
     spec_read_forward},
    {{SPEC_IN_MODEL | SPEC_IN_CLASS, "methods", SPEC_VALUE_FUNCTIONS,
      "further functions of a class, called as `self.NAME(...)`; as a text of Python's `def`s, `forward` among them",
      "{double(x): return 2 * fc(x)}"},
     spec_read_methods},
    {{SPEC_IN_MODEL, "entries", SPEC_VALUE_ENTRIES, "further functions over the same modules",
      "{act(observation): {max: {batch: 1}, statements: [return actor(observation)]}}"},
     spec_read_entries},
    {{SPEC_IN_MODEL, "tie", SPEC_VALUE_TIES, "parameters that are another one",
      "{lm_head.weight: embed.weight}"},
     spec_read_tie},
    {{SPEC_IN_MODEL, "freeze", SPEC_VALUE_PATTERNS, "parameters that are not trained", "[trunk.*]"},
     spec_read_freeze},
    {{SPEC_IN_MODEL, "eval", SPEC_VALUE_PATTERNS, "modules that stay in evaluation mode", "[backbone.*]"},
     spec_read_eval},
    {{SPEC_IN_MODEL, "hooks", SPEC_VALUE_TOGGLE,
      "none: modules have no hooks, and nothing is emitted for them", "none"},
     spec_read_hooks},
    {{SPEC_IN_MODEL, "pack", SPEC_VALUE_TOGGLE,
      "none: there is no packed block, kernels read weights in PyTorch's layout", "none"},
     spec_read_pack},
    {{SPEC_IN_MODEL, "state_dict", SPEC_VALUE_TOGGLE, "none: what only saving and training need is left out",
      "none"},
     spec_read_state_dict},
    {{SPEC_IN_MODEL, "storage", SPEC_VALUE_STORAGE,
      "the type in which the weights of products are packed, while the model computes in float32",
      "bfloat16"},
     spec_read_storage},
    {{SPEC_IN_MODEL, "threads", SPEC_VALUE_WHOLE, "how many threads a call may use", "1"}, spec_read_threads},
    {{SPEC_IN_MODEL, "extends", SPEC_VALUE_TEXT, "the spec that this one starts from", "base.yaml"},
     NULL}, /* spec_extends.c took it */
    {{SPEC_IN_MODEL, "set", SPEC_VALUE_REPLACED, "submodules to replace, by path; they must exist",
      "{trunk.2: 'Linear(64, 128)'}"},
     spec_read_set},
    {{SPEC_IN_MODEL, "add", SPEC_VALUE_REPLACED, "modules to add behind the children of another, by path",
      "{trunk.4: ReLU()}"},
     spec_read_add},
    {{SPEC_IN_MODEL, "training", SPEC_VALUE_TRAINING, "loss, optimizer and what belongs to them",
      "{loss: CrossEntropyLoss(), optimizer: AdamW(lr=3e-4)}"},
     spec_read_training},
    {{SPEC_IN_MODEL, "backward", SPEC_VALUE_BOOL, "true: gradients, without a loss", "true"},
     spec_read_backward},
    {{SPEC_IN_MODEL, "checkpoint", SPEC_VALUE_PATTERNS,
      "modules that backward computes again instead of saving values", "[block.*]"},
     spec_read_checkpoint},
    {{SPEC_IN_MODEL, "update", SPEC_VALUE_UPDATE,
      "fused: a parameter is updated as soon as its gradient is complete", "fused"},
     spec_read_update},
    {{SPEC_IN_MODEL, "taps", SPEC_VALUE_LATER, "modules whose outputs are outputs of the model too",
      "[trunk.1]"},
     NULL},
    {{SPEC_IN_MODEL, "rollout", SPEC_VALUE_ROLLOUT,
      "what a collector of experience records of each step, and how n-step returns are made of it",
      "{observation: [4], next: {observation: [4], reward: [], done: []}}"},
     spec_read_rollout},
    {{SPEC_IN_MODEL, "tokenizer", SPEC_VALUE_TEXT,
      "a tokenizer.json, whose tables and functions the model gets: text to ids of tokens and back",
      "tokenizer.json"},
     spec_read_tokenizer},
    {{SPEC_IN_MODEL, "template", SPEC_VALUE_TEXT,
      "a chat template, as chat_template.jinja or in a tokenizer_config.json: turns of a conversation to text",
      "chat_template.jinja"},
     spec_read_template},
    {{SPEC_IN_MODEL, "generation", SPEC_VALUE_GENERATION,
      "makes a text generator of a model of rows, each a token of some sequence at some position",
      "{context: 1024, sequences: 4}"},
     spec_read_generation},
    {{SPEC_IN_MODEL, "winograd", SPEC_VALUE_SWITCH,
      "off: convolutions without Winograd's transform, which is faster and has up to 2.5 times the rounding error",
      "off"},
     spec_read_winograd},
    {{SPEC_IN_MODEL, "denormals", SPEC_VALUE_DENORMALS,
      "flush: numbers below the least normal one are 0 while a call computes, which many processors do faster",
      "flush"},
     spec_read_denormals},

    {{SPEC_IN_CLASS, "extra_repr", SPEC_VALUE_TEXT, "what print(model) shows behind the class", "dim=64"},
     NULL},
    {{SPEC_IN_INPUT | SPEC_IN_TENSOR, "shape", SPEC_VALUE_SHAPE, "its dimensions", "[batch, 4]"}, NULL},
    {{SPEC_IN_TENSOR, "init", SPEC_VALUE_INIT, "how it starts: a function of torch.nn.init",
      "normal_(std=0.02)"},
     NULL},
    {{SPEC_IN_TENSOR, "value", SPEC_VALUE_EXPRESSION, "what it starts with, instead of shape and init",
      "arange(0, 8) / 8"},
     NULL},
    {{SPEC_IN_INPUT | SPEC_IN_TENSOR, "dtype", SPEC_VALUE_DTYPE, "its type; else the model's", "int64"},
     NULL},
    {{SPEC_IN_BUFFER, "persistent", SPEC_VALUE_BOOL, "false: it is no key of the state_dict", "false"}, NULL},
    {{SPEC_IN_PARAMETER, "requires_grad", SPEC_VALUE_BOOL, "false: it is not trained", "false"}, NULL},
    {{SPEC_IN_INPUT, "requires_grad", SPEC_VALUE_BOOL, "false: backward makes no gradient of it", "false"},
     NULL},
    {{SPEC_IN_ENTRY, "max", SPEC_VALUE_MAXIMA, "lower maxima of sizes", "{batch: 1}"}, NULL},
    {{SPEC_IN_ENTRY, "statements", SPEC_VALUE_STATEMENTS, "what it computes", "[return actor(observation)]"},
     NULL},
    {{SPEC_IN_TRAINING, "inputs", SPEC_VALUE_INPUTS, "what only the loss takes", "{advantage: [batch]}"},
     NULL},
    {{SPEC_IN_TRAINING, "loss", SPEC_VALUE_LOSS,
      "statements over inputs and what the model returns; or, for a model of one output, a loss of it and an input `target`",
      "CrossEntropyLoss()"},
     NULL},
    {{SPEC_IN_TRAINING, "optimizer", SPEC_VALUE_OPTIMIZER, "of torch.optim, without its parameters",
      "AdamW(lr=3e-4)"},
     NULL},
    {{SPEC_IN_TRAINING, "groups", SPEC_VALUE_GROUPS, "parameters for which the optimizer has other arguments",
      "[{params: '*.bias', weight_decay: 0.0}]"},
     NULL},
    {{SPEC_IN_TRAINING, "clip", SPEC_VALUE_CLIP, "how gradients are clipped: a function of torch.nn.utils",
      "clip_grad_norm_(1.0)"},
     NULL},
    {{SPEC_IN_TRAINING, "scheduler", SPEC_VALUE_SCHEDULER,
      "of torch.optim.lr_scheduler, without its optimizer", "CosineAnnealingLR(T_max=1000)"},
     NULL},
    {{SPEC_IN_TRAINING, "ema", SPEC_VALUE_EXPRESSION,
      "an exponential moving average of the parameters is kept, with this decay", "0.999"},
     NULL},
    {{SPEC_IN_GROUP, "params", SPEC_VALUE_PATTERNS, "its parameters", "['*.bias']"}, NULL},
    {{SPEC_IN_ROLLOUT, "multi_step", SPEC_VALUE_TEXT,
      "the MultiStep module whose settings count; else the only one", "n_step"},
     NULL},
    {{SPEC_IN_ROLLOUT, "reward_keys", SPEC_VALUE_KEYS, "the records that are summed; else next.reward",
      "[next.reward]"},
     NULL},
    {{SPEC_IN_ROLLOUT, "done_key", SPEC_VALUE_KEY, "the record that ends episodes; else next.done",
      "next.done"},
     NULL},
    {{SPEC_IN_ROLLOUT, "mask_key", SPEC_VALUE_KEY,
      "the record that says which steps count; else collector.mask, where it is recorded", "collector.mask"},
     NULL},
    {{SPEC_IN_ROLLOUT, "info", SPEC_VALUE_INFO,
      "what else is wanted of each step: where its next records come from, and how that step ended",
      "[terminated_at_gather_index]"},
     NULL},
    {{SPEC_IN_GENERATION, "context", SPEC_VALUE_EXPRESSION, "how many tokens a sequence may have", "1024"},
     NULL},
    {{SPEC_IN_GENERATION, "sequences", SPEC_VALUE_EXPRESSION, "how many sequences are held at a time; else 1",
      "4"},
     NULL},
    {{SPEC_IN_GENERATION, "page", SPEC_VALUE_EXPRESSION,
      "how many tokens a page of the cache has; else 64, or of one sequence the context", "16"},
     NULL},
    {{SPEC_IN_GENERATION, "eos", SPEC_VALUE_IDS, "the ids of tokens that end a text", "[50256]"}, NULL},
    {{SPEC_IN_GENERATION, "pad", SPEC_VALUE_EXPRESSION, "the id that padded results are filled with", "0"},
     NULL},
    {{SPEC_IN_GENERATION, "cache", SPEC_VALUE_STORAGE,
      "the type in which keys and values are kept; else the model's", "bfloat16"},
     NULL},
    {{SPEC_IN_GENERATION, "invariant", SPEC_VALUE_BOOL,
      "true: a text is the same bits whatever else is in a call", "true"},
     NULL},
    {{SPEC_IN_GENERATION, "start", SPEC_VALUE_EXPRESSION,
      "with an encoder, the id in front of what is written; else pad", "0"},
     NULL},
    {{SPEC_IN_GENERATION, "encoder", SPEC_VALUE_TEXT,
      "the entry that reads what a sequence is written from: it takes ids, and the sequence's number",
      "encode"},
     NULL},
    {{SPEC_IN_GENERATION, "defaults", SPEC_VALUE_OPTIONS, "options of generation that differ from modc's own",
      "{max_new_tokens: 64, temperature: 0.8}"},
     NULL},
    {{SPEC_IN_GENERATION, "grammars", SPEC_VALUE_GRAMMARS,
      "what texts can be made to match: regular expressions and JSON schemas, each with a name",
      "{date: '[0-9]{4}-[0-9]{2}', person: {schema: person.json}}"},
     NULL},
    {{SPEC_IN_GRAMMAR, "regex", SPEC_VALUE_TEXT, "a regular expression, which the whole text matches",
      "'[0-9]+'"},
     NULL},
    {{SPEC_IN_GRAMMAR, "schema", SPEC_VALUE_TEXT, "a file with a JSON schema", "person.json"}, NULL},
    {{SPEC_IN_RECORD, "shape", SPEC_VALUE_SHAPE, "the dimensions of one step", "[4]"}, NULL},
    {{SPEC_IN_RECORD, "dtype", SPEC_VALUE_DTYPE,
      "its type; else bool of masks and of what ends an episode, or the model's", "int64"},
     NULL},
};

const struct spec_key *spec_key(int index)
{
    return index < COUNT(keys) ? &keys[index].key : NULL;
}

void spec_read_key(struct reader *r, const struct node *key, const struct node *node)
{
    for (int i = 0; i < COUNT(keys); i++) {
        if (!(keys[i].key.where & SPEC_IN_MODEL) || strcmp(keys[i].key.name, key->value) != 0)
            continue;
        if (keys[i].read)
            keys[i].read(r, key, node);
        else
            diag_error(r->cx, key->loc, "'%s' is not supported yet by this version of modc", key->value);
        return;
    }
    if (spec_is_forward(key)) {
        spec_read_forward(r, key, node);
    } else {
        const char *meant = spec_unknown_key(r, key, "a spec", SPEC_IN_MODEL);

        r->has_version |= strcmp(meant, "modc") == 0;
        r->has_model |= strcmp(meant, "model") == 0;
        r->has_inputs |= strcmp(meant, "inputs") == 0;
        r->spec->partial |= meant[0] || node->kind != NODE_SCALAR; /* a misspelt section of names */
    }
}
