/* schema.c - the JSON Schema of specs, from the tables of keys, dtypes, layers and functions; see schema.h.
 *
 * note [what a schema sees]
 * An editor checks what YAML makes of a spec, so the schema has to take the pieces into which YAML takes flow
 * collections apart: `{fc: Linear(4, 2)}` is {"fc": "Linear(4", "2)": null}. Hence strings need not be whole calls
 * where a list may have been taken apart, and keys that cannot be names are let through where they have no value. It
 * refuses less than modc does, and nothing that modc takes. */
#include "commands/schema.h"

#include <string.h>

#include "base/narrow.h"
#include "base/storage.h"
#include "commands/catalogue.h"
#include "module/module.h"
#include "module/training.h"
#include "spec/spec.h"

/* ---- JSON ------------------------------------------------------------------------------------------------- */

enum { MOST_DEPTH = 16 };

struct json {
    struct cx *cx;
    struct text *text;
    int depth;
    bool filled[MOST_DEPTH]; /* by depth: something stands there already */
    char ends[MOST_DEPTH];
};

/* Before a member (or, with NULL, an element). */
static void begin(struct json *j, const char *key)
{
    text_printf(j->text, "%s\n%*s", j->filled[j->depth] ? "," : "", 2 * j->depth, "");
    j->filled[j->depth] = true;
    if (key) {
        text_json_string(j->text, key);
        text_add(j->text, ": ");
    }
}

static void open_in(struct json *j, const char *key, char bracket)
{
    if (j->depth > 0)
        begin(j, key);
    text_printf(j->text, "%c", bracket);
    j->depth++;
    j->filled[j->depth] = false;
    j->ends[j->depth] = bracket == '{' ? '}' : ']';
}

static void object(struct json *j, const char *key)
{
    open_in(j, key, '{');
}

static void list(struct json *j, const char *key)
{
    open_in(j, key, '[');
}

static void end(struct json *j)
{
    j->depth--;
    text_printf(j->text, "\n%*s%c", 2 * j->depth, "", j->ends[j->depth + 1]);
}

static void string(struct json *j, const char *key, const char *value)
{
    begin(j, key);
    text_json_string(j->text, value);
}

/* A value that is JSON already. */
static void literal(struct json *j, const char *key, const char *value)
{
    begin(j, key);
    text_add(j->text, value);
}

static void strings(struct json *j, const char *key, const char *const *values, int count)
{
    begin(j, key);
    text_add(j->text, "[");
    for (int i = 0; i < count; i++) {
        text_add(j->text, i ? ", " : "");
        text_json_string(j->text, values[i]);
    }
    text_add(j->text, "]");
}

/* ---- parts that return -------------------------------------------------------------------------------------- */

#define NAME "[A-Za-z_][A-Za-z0-9_]*"

static void refer(struct json *j, const char *key, const char *definition)
{
    literal(j, key, arena_format(&j->cx->arena, "{\"$ref\": \"#/definitions/%s\"}", definition));
}

static void any_of(struct json *j, const char *first, const char *second)
{
    list(j, "anyOf");
    refer(j, NULL, first);
    refer(j, NULL, second);
    end(j);
}

/* A mapping of names to what a definition says; see note [what a schema sees]. */
static void define_mapping(struct json *j, const char *name, const char *key_pattern, const char *definition)
{
    object(j, name);
    string(j, "type", "object");
    object(j, "patternProperties");
    refer(j, key_pattern, definition);
    end(j);
    refer(j, "additionalProperties", "piece");
    end(j);
}

static void define_sizes(struct json *j)
{
    object(j, "sizes");
    string(j, "type", "object");
    object(j, "properties");
    refer(j, "require", "requirements");
    end(j);
    object(j, "patternProperties");
    refer(j, "^(?!require$)" NAME "$", "size");
    end(j);
    refer(j, "additionalProperties", "piece");
    end(j);
}

/* ---- keys ------------------------------------------------------------------------------------------------- */

static const char *const value_definitions[] = {
    [SPEC_VALUE_VERSION] = "version",
    [SPEC_VALUE_NAME] = "name",
    [SPEC_VALUE_DTYPES] = "dtypes",
    [SPEC_VALUE_DEVICES] = "devices",
    [SPEC_VALUE_CONSTANTS] = "constants",
    [SPEC_VALUE_SIZES] = "sizes",
    [SPEC_VALUE_MAXIMA] = "maxima",
    [SPEC_VALUE_INPUTS] = "inputs",
    [SPEC_VALUE_FUNCTIONS] = "functions",
    [SPEC_VALUE_CLASSES] = "classes",
    [SPEC_VALUE_MODULES] = "modules",
    [SPEC_VALUE_PARAMETERS] = "parameters",
    [SPEC_VALUE_BUFFERS] = "buffers",
    [SPEC_VALUE_STATES] = "states",
    [SPEC_VALUE_STATEMENTS] = "statements",
    [SPEC_VALUE_ENTRIES] = "entries",
    [SPEC_VALUE_PATTERNS] = "patterns",
    [SPEC_VALUE_REPLACED] = "replaced",
    [SPEC_VALUE_TIES] = "ties",
    [SPEC_VALUE_TOGGLE] = "toggle",
    [SPEC_VALUE_SWITCH] = "switch",
    [SPEC_VALUE_DENORMALS] = "denormals",
    [SPEC_VALUE_ACTIVATIONS] = "activations",
    [SPEC_VALUE_WHOLE] = "whole",
    [SPEC_VALUE_TEXT] = "text",
    [SPEC_VALUE_SHAPE] = "shape",
    [SPEC_VALUE_DTYPE] = "dtype",
    [SPEC_VALUE_STORAGE] = "storage",
    [SPEC_VALUE_CACHE] = "narrow_dtype",
    [SPEC_VALUE_INIT] = "init",
    [SPEC_VALUE_EXPRESSION] = "expression",
    [SPEC_VALUE_BOOL] = "bool",
    [SPEC_VALUE_TRAINING] = "training",
    [SPEC_VALUE_LOSS] = "statements",
    [SPEC_VALUE_GROUPS] = "groups",
    [SPEC_VALUE_ROLLOUT] = "rollout",
    [SPEC_VALUE_KEY] = "text",
    [SPEC_VALUE_KEYS] = "keys",
    [SPEC_VALUE_INFO] = "info",
    [SPEC_VALUE_GENERATION] = "generation",
    [SPEC_VALUE_IDS] = "ids",
    [SPEC_VALUE_OPTIONS] = "options",
    [SPEC_VALUE_GRAMMARS] = "grammars",
    [SPEC_VALUE_UPDATE] = "update",
    [SPEC_VALUE_OPTIMIZER] = "optimizer",
    [SPEC_VALUE_CLIP] = "clip",
    [SPEC_VALUE_SCHEDULER] = "scheduler",
    [SPEC_VALUE_SCALER] = "scaler",
    [SPEC_VALUE_MASTER] = "master",
    [SPEC_VALUE_AUTOCAST] = "autocast",
    [SPEC_VALUE_LATER] = NULL,
};

/* Whether the example is text that YAML leaves as it is: an editor may offer it. */
static bool is_plain(const struct spec_key *key)
{
    switch (key->value) {
    case SPEC_VALUE_NAME:
    case SPEC_VALUE_TEXT:
    case SPEC_VALUE_EXPRESSION:
        return true;
    default:
        return false;
    }
}

static void print_key(struct json *j, const struct spec_key *key)
{
    bool later = key->value == SPEC_VALUE_LATER;
    const char *doc = arena_format(&j->cx->arena, "%s%s", key->doc,
                                   later ? " (not supported yet by this version of modc)" : "");

    object(j, key->name);
    string(j, "description", doc);
    string(j, "markdownDescription",
           arena_format(&j->cx->arena, "%s\n\n```yaml\n%s: %s\n```", doc, key->name, key->example));
    if (is_plain(key))
        strings(j, "examples", &key->example, 1);
    if (!later) /* beside a bare $ref, draft 7 ignores all others */
        literal(
            j, "allOf",
            arena_format(&j->cx->arena, "[{\"$ref\": \"#/definitions/%s\"}]", value_definitions[key->value]));
    end(j);
}

/* A class names the arguments of its forward: the key is matched by a pattern. */
static bool is_property(const struct spec_key *key, unsigned where)
{
    return (key->where & where) && !(where == SPEC_IN_CLASS && strcmp(key->name, "forward") == 0);
}

/* The keys that may stand in one place, as the properties of an object that has no others. */
static void print_keys(struct json *j, unsigned where)
{
    string(j, "type", "object");
    object(j, "properties");
    for (int i = 0; spec_key(i); i++)
        if (is_property(spec_key(i), where))
            print_key(j, spec_key(i));
    end(j);
}

/* ---- values ----------------------------------------------------------------------------------------------- */

static void define_type(struct json *j, const char *name, const char *type, const char *pattern,
                        const char *doc)
{
    object(j, name);
    literal(j, "type", type);
    if (pattern)
        string(j, "pattern", pattern);
    if (doc)
        string(j, "description", doc);
    end(j);
}

static void define_one_or_many(struct json *j, const char *name, const char *one)
{
    object(j, name);
    list(j, "anyOf");
    refer(j, NULL, one);
    object(j, NULL);
    string(j, "type", "array");
    literal(j, "minItems", "1");
    refer(j, "items", one);
    end(j);
    end(j);
    end(j);
}

static void define_names_of_dtypes(struct json *j, const char *name, const char *const *names, int count)
{
    struct text pattern = text_new(&j->cx->arena);

    for (int i = 0; i < count; i++)
        text_printf(&pattern, "%s%s", i ? "|" : "^torch\\.(", names[i]);
    text_add(&pattern, ")$");
    object(j, name);
    list(j, "anyOf");
    object(j, NULL);
    strings(j, "enum", names, count);
    end(j);
    object(j, NULL);
    string(j, "type", "string");
    string(j, "pattern", pattern.data);
    end(j);
    end(j);
    end(j);
}

static void define_dtype(struct json *j, const char *name, bool model)
{
    int count;
    const char *const *names = spec_dtypes(j->cx, model, &count);

    define_names_of_dtypes(j, name, names, count);
}

static void define_narrow(struct json *j)
{
    const char **names = NULL;
    int count = 0;

    for (int i = 0; i < NARROW_COUNT; i++) {
        const struct dtype_row *row = &dtype_rows[narrows[i].dtype];

        ARENA_PUSH(&j->cx->arena, names, count, row->name);
        if (row->alias)
            ARENA_PUSH(&j->cx->arena, names, count, row->alias);
    }
    define_names_of_dtypes(j, "narrow_dtype", names, count);
}

static void define_storage(struct json *j)
{
    const char **examples = NULL;
    int count = 0;

    for (int i = 0; storage_kind(i); i++)
        ARENA_PUSH(&j->cx->arena, examples, count, storage_text(&j->cx->arena, storage_kind(i)));
    object(j, "stored");
    string(
        j, "description",
        "a kind, perhaps with options: group=, how many weights of a row share a scale; scale=, its type; rounding=symmetric or gguf; bfloat16(bits=12): the same numbers in fewer bits");
    string(j, "type", "string");
    strings(j, "examples", examples, count);
    end(j);
    define_mapping(j, "storages", "^[A-Za-z0-9_.*?]+$", "stored");
    object(j, "storage");
    any_of(j, "stored", "storages");
    end(j);
}

static void define_simple(struct json *j)
{
    int devices;
    const char *const *names = spec_devices(&devices);

    object(j, "piece");
    string(j, "description",
           "what YAML left of a call behind a comma; quote the call where this is in the way");
    literal(j, "type", "\"null\"");
    end(j);
    object(j, "version");
    literal(j, "enum", "[1, \"1\"]");
    end(j);
    object(j, "toggle");
    literal(j, "enum", "[\"none\", \"on\", true]"); /* YAML 1.1 makes true of on */
    end(j);
    object(j, "switch");
    literal(j, "enum", "[\"off\", \"on\", true, false]");
    end(j);
    object(j, "denormals");
    literal(j, "enum", "[\"keep\", \"flush\"]");
    end(j);
    object(j, "activations");
    literal(j, "enum", "[\"int8\", \"calibrated\", \"none\"]");
    end(j);
    object(j, "device");
    strings(j, "enum", names, devices);
    end(j);
    define_type(j, "name", "\"string\"", "^" NAME "$", NULL);
    define_type(j, "text", "[\"string\", \"number\", \"boolean\"]", NULL, NULL);
    define_type(j, "bool", "\"boolean\"", NULL, NULL);
    object(j, "whole");
    string(j, "type", "integer");
    literal(j, "minimum", "1");
    end(j);
    object(j, "expression");
    string(j, "description", "an expression in Python's grammar");
    literal(j, "type", "[\"string\", \"number\", \"boolean\", \"null\", \"array\"]");
    end(j);
    define_dtype(j, "dtype", false);
    define_dtype(j, "model_dtype", true);
    define_narrow(j);
    define_storage(j);
    define_one_or_many(j, "dtypes", "model_dtype");
    define_one_or_many(j, "devices", "device");
    define_type(j, "pattern", "\"string\"", NULL, "paths, with * for any part");
    define_one_or_many(j, "patterns", "pattern");
    define_mapping(j, "constants", "^" NAME "$", "expression");
    define_type(j, "size", "[\"integer\", \"string\"]", NULL,
                "the largest value: a number, or an expression over constants");
    define_mapping(j, "maxima", "^" NAME "$", "size");
    define_type(j, "requirement", "\"string\"", NULL, "a comparison of sizes: past + tokens <= 128");
    define_one_or_many(j, "requirements", "requirement");
    define_sizes(j);
    define_type(j, "path", "\"string\"", NULL, "the path of a tensor: layer.0.weight");
    define_mapping(j, "ties", "^[^ ]+$", "path");
}

static void define_shape(struct json *j)
{
    object(j, "shape");
    string(j, "description", "dimensions: numbers, sizes, and expressions over them; [] for a single number");
    list(j, "anyOf");
    object(j, NULL);
    string(j, "type", "array");
    object(j, "items");
    literal(j, "type", "[\"integer\", \"string\"]");
    end(j);
    end(j);
    object(j, NULL);
    string(j, "type", "string");
    string(j, "pattern", "^[\\[(].*[\\])]$");
    end(j);
    end(j);
    end(j);
}

static void define_init(struct json *j)
{
    const char **examples = NULL;
    int count = 0;

    for (int i = 0; module_inits[i]; i++)
        ARENA_PUSH(&j->cx->arena, examples, count, module_inits[i]);
    object(j, "init");
    string(j, "description", "a function of torch.nn.init without its tensor; zeros and ones are those");
    string(j, "type", "string");
    strings(j, "examples", examples, count);
    end(j);
}

/* An object of one tensor: keys, and either a shape or a value. */
static void define_tensor(struct json *j, const char *name, const char *map, unsigned where)
{
    object(j, name);
    print_keys(j, where);
    object(j, "patternProperties");
    refer(j, "[^A-Za-z0-9_]", "piece");
    end(j);
    literal(j, "additionalProperties", "false");
    literal(j, "anyOf", "[{\"required\": [\"shape\"]}, {\"required\": [\"value\"]}]");
    literal(j, "not", "{\"required\": [\"init\", \"value\"]}");
    end(j);
    define_mapping(j, map, "^" NAME "$", name);
}

static void define_inputs(struct json *j)
{
    object(j, "described_input");
    print_keys(j, SPEC_IN_INPUT);
    literal(j, "additionalProperties", "false");
    literal(j, "required", "[\"shape\"]");
    end(j);
    object(j, "input");
    any_of(j, "shape", "described_input");
    end(j);
    object(j, "inputs");
    string(j, "type", "object");
    literal(j, "minProperties", "1");
    object(j, "patternProperties");
    refer(j, "^" NAME "$", "input");
    end(j);
    refer(j, "additionalProperties", "piece");
    end(j);
}

/* ---- statements ------------------------------------------------------------------------------------------- */

static void define_statements(struct json *j)
{
    int count;
    const struct catalogue_entry *functions = catalogue_functions(j->cx, &count);
    struct text names = text_new(&j->cx->arena);

    text_add(
        &names,
        "A statement of Python's grammar: an assignment, `return`, `assert`; in block text also `if`, `for` and `with`. "
        "Functions of PyTorch that modc has:\n\n");
    for (int i = 0; i < count; i++)
        text_printf(&names, "%s`%s`", i ? ", " : "", functions[i].signature);
    object(j, "statement");
    string(j, "description", "a statement of Python's grammar: an assignment, return, assert");
    string(j, "markdownDescription", names.data);
    literal(j, "type", "[\"string\", \"number\", \"boolean\"]"); /* the latter are pieces: f(x, 2, True) */
    literal(j, "examples", "[\"h = relu(fc(x))\", \"self.steps += 1\", \"return h\"]");
    end(j);
    object(j, "statements");
    list(j, "anyOf");
    object(j, NULL);
    string(j, "description",
           "one statement, or a block text as Python's: a statement a line, blocks further to the right");
    string(j, "type", "string");
    end(j);
    object(j, NULL);
    string(j, "type", "array");
    literal(j, "minItems", "1");
    refer(j, "items", "statement");
    end(j);
    end(j);
    end(j);
    object(j, "functions");
    list(j, "anyOf");
    object(j, NULL);
    string(j, "description", "a block text of Python's functions: def f(x):");
    string(j, "type", "string");
    end(j);
    object(j, NULL);
    string(j, "type", "object");
    object(j, "patternProperties");
    refer(j, "^" NAME " *\\(|\\)$", "statements_or_piece"); /* f(x, y): may be two keys */
    end(j);
    literal(j, "additionalProperties", "false");
    end(j);
    end(j);
    end(j);
    object(j, "statements_or_piece");
    any_of(j, "statements", "piece");
    end(j);
    object(j, "described_entry");
    print_keys(j, SPEC_IN_ENTRY);
    literal(j, "additionalProperties", "false");
    literal(j, "required", "[\"statements\"]");
    end(j);
    object(j, "entry");
    any_of(j, "statements_or_piece", "described_entry");
    end(j);
    object(j, "entries");
    string(j, "type", "object");
    object(j, "patternProperties");
    refer(j, "^" NAME " *(\\(|$)|\\)$", "entry");
    end(j);
    literal(j, "additionalProperties", "false");
    end(j);
}

/* ---- modules ---------------------------------------------------------------------------------------------- */

/* "Linear(in_features, out_features)": what has to be given. */
static const char *needed(struct json *j, const struct catalogue_entry *layer)
{
    struct text text = text_new(&j->cx->arena);
    const char *at = strchr(layer->signature, '(') + 1;
    int count = 0;

    text_printf(&text, "%s(", layer->name);
    while (*at != ')' && *at != '.') {
        size_t length = strcspn(at, ",)");

        if (memchr(at, '=', length))
            break; /* all behind it has defaults, some with commas in them */
        text_printf(&text, "%s%.*s", count++ ? ", " : "", (int)length, at);
        at += length + (at[length] == ',');
        at += strspn(at, " ");
    }
    text_add(&text, ")");
    return text.data;
}

static void print_layer(struct json *j, const struct catalogue_entry *layer)
{
    const char *example = needed(j, layer);

    object(j, NULL);
    string(j, "type", "string");
    string(j, "pattern", arena_format(&j->cx->arena, "^((torch\\.)?nn\\.)?%s *\\(", layer->name));
    string(j, "description", arena_format(&j->cx->arena, "%s: %s", layer->signature, layer->doc));
    string(j, "markdownDescription", arena_format(&j->cx->arena, "`%s`\n\n%s", layer->signature, layer->doc));
    strings(j, "examples", &example, 1);
    end(j);
}

static void define_modules(struct json *j)
{
    int count;
    const struct catalogue_entry *layers = catalogue_layers(j->cx, &count);

    object(j, "call");
    list(j, "anyOf");
    for (int i = 0; i < count; i++)
        print_layer(j, &layers[i]);
    object(j, NULL);
    string(j, "description",
           "a class of your own, N x CALL, CALL for NAMES in SEQUENCE, CALL if CONDITION else CALL, or None");
    string(j, "type", "string");
    string(j, "pattern", "[()]|^None$|^[a-z_][A-Za-z0-9_]*$");
    end(j);
    end(j);
    end(j);
    object(j, "module");
    list(j, "anyOf");
    refer(j, NULL, "call");
    refer(j, NULL, "module_list");
    refer(j, NULL, "module_map");
    end(j);
    end(j);
    object(j, "module_list");
    string(j, "description", "a Sequential");
    string(j, "type", "array");
    object(j, "items");
    list(j, "anyOf");
    refer(j, NULL, "module");
    object(j, NULL);
    literal(j, "type", "[\"string\", \"number\", \"boolean\"]");
    end(j);
    end(j);
    end(j);
    end(j);
    object(j, "module_map");
    string(j, "description", "children by name: a ModuleDict, or with `class: Sequential` a Sequential");
    string(j, "type", "object");
    object(j, "properties");
    object(j, "class");
    list(j, "anyOf");
    object(j, NULL);
    string(j, "pattern", "^((torch\\.)?nn\\.)?(Sequential|ModuleDict)$");
    end(j);
    refer(j, NULL, "module");
    end(j);
    end(j);
    end(j);
    object(j, "patternProperties");
    refer(j, "^(?!class$)[^ .,:()\\[\\]{}=]+$", "module");
    end(j);
    refer(j, "additionalProperties", "piece");
    end(j);
    object(j, "modules");
    list(j, "anyOf");
    refer(j, NULL, "module_list");
    refer(j, NULL, "module_map");
    object(j, NULL);
    string(j, "description", "N x CALL, or CALL for NAMES in SEQUENCE");
    string(j, "type", "string");
    string(j, "pattern", " x | for ");
    end(j);
    end(j);
    end(j);
    define_mapping(j, "replaced", "^[A-Za-z0-9_.-]+$", "module");
}

static void define_classes(struct json *j)
{
    object(j, "class");
    print_keys(j, SPEC_IN_CLASS);
    object(j, "patternProperties");
    refer(j, "^forward *\\(", "statements");
    object(j, "^forward$");
    string(j, "description", "a block text: def forward(self, x):, with what a call computes");
    string(j, "type", "string");
    string(j, "pattern", "def ");
    end(j);
    end(j);
    literal(j, "additionalProperties", "false");
    end(j);
    object(j, "class_or_piece");
    any_of(j, "class", "piece");
    end(j);
    object(j, "class_mapping");
    string(j, "type", "object");
    object(j, "patternProperties");
    refer(j, "^" NAME " *(\\(|$)|\\)$", "class_or_piece");
    end(j);
    literal(j, "additionalProperties", "false");
    end(j);
    object(j, "class_text");
    string(j, "description",
           "a block text of Python's classes: class NAME(nn.Module):, and functions beside them");
    string(j, "type", "string");
    string(j, "pattern", "(class|def) ");
    end(j);
    object(j, "classes");
    any_of(j, "class_mapping", "class_text");
    end(j);
}

/* ---- training --------------------------------------------------------------------------------------------- */

/* One of several calls, which YAML may have taken apart. */
static void define_calls(struct json *j, const char *name, const char *const *signatures,
                         const char *const *docs, int count)
{
    object(j, name);
    list(j, "anyOf");
    for (int i = 0; i < count; i++) {
        const char *class = optim_class(j->cx, signatures[i]);

        object(j, NULL);
        string(j, "type", "string");
        string(j, "pattern", arena_format(&j->cx->arena, "^([a-z_]+\\.)*%s *\\(", class));
        string(j, "description", arena_format(&j->cx->arena, "%s: %s", signatures[i], docs[i]));
        string(j, "markdownDescription", arena_format(&j->cx->arena, "`%s`\n\n%s", signatures[i], docs[i]));
        end(j);
    }
    end(j);
    end(j);
}

static void define_training(struct json *j)
{
    const char **signatures = NULL, **docs = NULL;
    int count = 0, doc_count = 0;

    for (const struct optim_row *row = optim_rows; row->signature; row++) {
        ARENA_PUSH(&j->cx->arena, docs, doc_count, row->doc);
        ARENA_PUSH(&j->cx->arena, signatures, count, row->signature);
    }
    define_calls(j, "optimizer", signatures, docs, count);
    count = doc_count = 0;
    for (const struct schedule_row *row = schedule_rows; row->signature; row++) {
        ARENA_PUSH(&j->cx->arena, docs, doc_count, row->doc);
        ARENA_PUSH(&j->cx->arena, signatures, count, row->signature);
    }
    define_calls(j, "scheduler", signatures, docs, count);
    count = doc_count = 0;
    for (const struct clip_row *row = clip_rows; row->signature; row++) {
        ARENA_PUSH(&j->cx->arena, docs, doc_count, row->doc);
        ARENA_PUSH(&j->cx->arena, signatures, count, row->signature);
    }
    define_calls(j, "clip", signatures, docs, count);
    define_calls(j, "scaler", &scaler_rows[0].signature, &scaler_rows[0].doc, 1);
    object(j, "autocast");
    literal(j, "enum", "[\"bfloat16\", \"float16\"]");
    end(j);
    object(j, "master");
    literal(j, "enum", "[\"float32\"]");
    end(j);
    object(j, "update");
    literal(j, "enum", "[\"separate\", \"fused\"]");
    end(j);
    object(j, "group");
    print_keys(j, SPEC_IN_GROUP);
    literal(j, "required", "[\"params\"]");
    end(j);
    object(j, "groups");
    string(j, "type", "array");
    refer(j, "items", "group");
    end(j);
    object(j, "training");
    print_keys(j, SPEC_IN_TRAINING);
    object(j, "patternProperties");
    refer(j, "[^A-Za-z0-9_]", "piece");
    end(j);
    literal(j, "additionalProperties", "false");
    literal(j, "required", "[\"loss\", \"optimizer\"]");
    end(j);
}

/* Records are nested as their keys are; beside them stand settings. */
static void define_rollout(struct json *j)
{
    define_one_or_many(j, "keys", "text");
    object(j, "info_name");
    literal(j, "enum", "[\"gather_index\", \"done_at_gather_index\", \"terminated_at_gather_index\"]");
    end(j);
    define_one_or_many(j, "info", "info_name");
    object(j, "described_record");
    print_keys(j, SPEC_IN_RECORD);
    literal(j, "additionalProperties", "false");
    literal(j, "required", "[\"shape\"]");
    end(j);
    object(j, "records");
    string(j, "type", "object");
    literal(j, "minProperties", "1");
    literal(j, "not", "{\"required\": [\"shape\"]}");
    object(j, "patternProperties");
    refer(j, "^" NAME "(\\." NAME ")*$", "record");
    end(j);
    refer(j, "additionalProperties", "piece");
    end(j);
    object(j, "record");
    list(j, "anyOf");
    refer(j, NULL, "shape");
    refer(j, NULL, "described_record");
    refer(j, NULL, "records");
    end(j);
    end(j);
    object(j, "rollout");
    print_keys(j, SPEC_IN_ROLLOUT);
    object(j, "patternProperties");
    refer(j, "^(?!(multi_step|reward_keys|done_key|mask_key|info)$)" NAME "(\\." NAME ")*$", "record");
    refer(j, "[^A-Za-z0-9_.]", "piece");
    end(j);
    literal(j, "additionalProperties", "false");
    end(j);
}

static void define_generation(struct json *j)
{
    define_type(j, "id", "[\"integer\", \"string\"]", NULL,
                "of a token: a number, or an expression over constants");
    define_one_or_many(j, "ids", "id");
    define_mapping(j, "options", "^" NAME "$", "expression");
    object(j, "described_grammar");
    print_keys(j, SPEC_IN_GRAMMAR);
    literal(j, "additionalProperties", "false");
    literal(j, "minProperties", "1");
    literal(j, "maxProperties", "2");
    literal(j, "dependencies", "{\"depth\": [\"schema\"], \"regex\": {\"maxProperties\": 1}}");
    end(j);
    object(j, "grammar");
    any_of(j, "text", "described_grammar");
    end(j);
    define_mapping(j, "grammars", "^" NAME "$", "grammar");
    object(j, "generation");
    print_keys(j, SPEC_IN_GENERATION);
    object(j, "patternProperties");
    refer(j, "[^A-Za-z0-9_]", "piece");
    end(j);
    literal(j, "additionalProperties", "false");
    end(j);
}

/* ---- the whole -------------------------------------------------------------------------------------------- */

void schema_print(struct cx *cx, struct text *text)
{
    struct json json = {.cx = cx, .text = text}, *j = &json;

    object(j, NULL);
    string(j, "$schema", "http://json-schema.org/draft-07/schema#");
    string(j, "$comment", "written by `modc schema` from its tables");
    string(j, "title", "modc spec");
    string(j, "description", "A torch.nn module tree that modc compiles to C");
    print_keys(j, SPEC_IN_MODEL);
    object(j, "patternProperties");
    refer(j, "^forward *\\(", "statements");
    end(j);
    literal(j, "additionalProperties", "false");
    literal(j, "if", "{\"required\": [\"extends\"]}");
    literal(j, "then", "true");
    literal(j, "else",
            "{\"required\": [\"modc\", \"model\", \"inputs\"], \"properties\": {\"generation\": "
            "{\"required\": [\"context\"]}}}");
    object(j, "definitions");
    define_simple(j);
    define_shape(j);
    define_init(j);
    define_tensor(j, "parameter", "parameters", SPEC_IN_PARAMETER);
    define_tensor(j, "buffer", "buffers", SPEC_IN_BUFFER);
    define_tensor(j, "state", "states", SPEC_IN_STATE);
    define_inputs(j);
    define_statements(j);
    define_modules(j);
    define_classes(j);
    define_training(j);
    define_rollout(j);
    define_generation(j);
    end(j);
    end(j);
    text_add(text, "\n");
}
