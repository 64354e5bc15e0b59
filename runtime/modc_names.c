/* modc_names.c - looking around in a model: iterators, lookup by path, and print(model). */
#include "modc.h"

enum { PARAMETERS, BUFFERS, MODULES, CHILDREN };

static size_t text_length(const char *text)
{
    const char *end = text;

    while (*end != '\0')
        end++;
    return (size_t)(end - text);
}

bool modc_same_text(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

/* The part of a full name that stands below this module. */
static const char *below(const struct modc_model *model, int module, const char *name)
{
    size_t skip = text_length(model->modules[module].path);

    if (skip > 0 && name[skip] == '.')
        skip++;
    return name + skip;
}

/* ---- iterators ----------------------------------------------------------------------------------------- */

static void start(struct modc_names *it, const struct modc_model *model, int module, const char *prefix,
                  int kind)
{
    it->model = model;
    it->prefix = prefix != NULL ? prefix : "";
    it->index = -1;
    it->name = "";
    it->module = module;
    it->next = kind == MODULES ? module : kind == CHILDREN ? module + 1 : 0;
    it->kind = kind;
    it->recurse = true;
    it->remove_duplicate = true;
}

void modc_named_parameters(struct modc_names *it, const struct modc_model *model, int module,
                           const char *prefix, bool recurse, bool remove_duplicate)
{
    start(it, model, module, prefix, PARAMETERS);
    it->recurse = recurse;
    it->remove_duplicate = remove_duplicate;
}

void modc_named_buffers(struct modc_names *it, const struct modc_model *model, int module, const char *prefix,
                        bool recurse, bool remove_duplicate)
{
    start(it, model, module, prefix, BUFFERS);
    it->recurse = recurse;
    it->remove_duplicate = remove_duplicate;
}

void modc_named_modules(struct modc_names *it, const struct modc_model *model, int module, const char *prefix)
{
    start(it, model, module, prefix, MODULES);
}

void modc_named_children(struct modc_names *it, const struct modc_model *model, int module)
{
    start(it, model, module, "", CHILDREN);
}

/* Whether the walk goes over this key, before duplicates are taken out. */
static bool covers(const struct modc_names *it, int index)
{
    const struct modc_key *key = &it->model->keys[index];
    int last = it->module + (it->recurse ? it->model->modules[it->module].subtree : 0);

    return ((key->flags & MODC_KEY_PARAMETER) != 0) == (it->kind == PARAMETERS) &&
           key->module >= it->module && key->module <= last;
}

static bool seen_before(const struct modc_names *it, int index)
{
    int owner = index - it->model->keys[index].tied;

    for (int i = owner; i < index; i++) {
        if (i - it->model->keys[i].tied == owner && covers(it, i))
            return true;
    }
    return false;
}

bool modc_next(struct modc_names *it)
{
    const struct modc_model *model = it->model;

    if (it->kind == PARAMETERS || it->kind == BUFFERS) {
        while (it->next < model->key_count &&
               (!covers(it, it->next) || (it->remove_duplicate && seen_before(it, it->next))))
            it->next++;
        if (it->next >= model->key_count)
            return false;
        it->index = it->next++;
        it->name = below(model, it->module, model->keys[it->index].name);
        return true;
    }
    if (it->next > it->module + model->modules[it->module].subtree)
        return false;
    it->index = it->next;
    it->next += it->kind == CHILDREN ? model->modules[it->index].subtree + 1 : 1;
    it->name = it->index == it->module ? "" : below(model, it->module, model->modules[it->index].path);
    return true;
}

size_t modc_names_text(const struct modc_names *it, char *out, size_t capacity)
{
    const char *pieces[] = {it->prefix, it->prefix[0] != '\0' && it->name[0] != '\0' ? "." : "", it->name};
    size_t length = 0;

    for (int i = 0; i < 3; i++) {
        for (const char *text = pieces[i]; *text != '\0'; text++, length++) {
            if (length + 1 < capacity)
                out[length] = *text;
        }
    }
    if (capacity > 0)
        out[length < capacity ? length : capacity - 1] = '\0';
    return length;
}

/* ---- lookup -------------------------------------------------------------------------------------------- */

enum modc_status modc_get_submodule(const struct modc_model *model, const char *path, int *module)
{
    for (int i = 0; i < model->module_count; i++) {
        if (modc_same_text(model->modules[i].path, path)) {
            *module = i;
            return MODC_OK;
        }
    }
    return MODC_NAME;
}

static enum modc_status get_key(const struct modc_model *model, const char *path, bool parameter, int *index)
{
    for (int i = 0; i < model->key_count; i++) {
        const struct modc_key *key = &model->keys[i];

        if (((key->flags & MODC_KEY_PARAMETER) != 0) == parameter && modc_same_text(key->name, path)) {
            *index = i;
            return MODC_OK;
        }
    }
    return MODC_NAME;
}

enum modc_status modc_get_parameter(const struct modc_model *model, const char *path, int *key)
{
    return get_key(model, path, true, key);
}

enum modc_status modc_get_buffer(const struct modc_model *model, const char *path, int *key)
{
    return get_key(model, path, false, key);
}

enum modc_status modc_get_entry(const struct modc_model *model, const char *name, int *entry)
{
    for (int i = 0; i < model->entry_count; i++) {
        if (modc_same_text(model->entries[i].name, name)) {
            *entry = i;
            return MODC_OK;
        }
    }
    return MODC_NAME;
}

/* ---- printing ------------------------------------------------------------------------------------------ */

struct printer {
    const struct modc_model *model;
    void (*write)(void *user, const char *text, size_t length);
    void *user;
};

/* Writes text, with this much indentation after each of its newlines. */
static void put(const struct printer *printer, const char *text, int indent)
{
    while (*text != '\0') {
        size_t length = 0;

        while (text[length] != '\0' && text[length] != '\n')
            length++;
        if (text[length] == '\n')
            length++;
        printer->write(printer->user, text, length);
        text += length;
        if (text[-1] == '\n') {
            for (int i = 0; i < indent; i++)
                printer->write(printer->user, " ", 1);
        }
    }
}

static void put_number(const struct printer *printer, int number)
{
    char digits[12];
    int i = (int)sizeof digits - 1;

    digits[i] = '\0';
    do {
        digits[--i] = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    put(printer, digits + i, 0);
}

/* Whether two modules print the same text. */
static bool prints_alike(const struct modc_model *model, int a, int b)
{
    int subtree = model->modules[a].subtree;

    if (model->modules[b].subtree != subtree)
        return false;
    for (int i = 0; i <= subtree; i++) {
        const struct modc_module *x = &model->modules[a + i], *y = &model->modules[b + i];

        if (!modc_same_text(x->class_name, y->class_name) || !modc_same_text(x->extra_repr, y->extra_repr) ||
            x->subtree != y->subtree || (i > 0 && !modc_same_text(x->name, y->name)))
            return false;
    }
    return true;
}

/* How many neighbours from this child on print as one line. */
static int run_length(const struct modc_model *model, int parent, int child)
{
    int last = parent + model->modules[parent].subtree, count = 1;
    int next = child + model->modules[child].subtree + 1;

    while (model->modules[parent].folds && next <= last && prints_alike(model, child, next)) {
        next += model->modules[next].subtree + 1;
        count++;
    }
    return count;
}

static void put_module(const struct printer *printer, int module, int indent);

static void put_children(const struct printer *printer, int module, int indent)
{
    const struct modc_model *model = printer->model;
    int last = module + model->modules[module].subtree, position = 0;

    for (int child = module + 1; child <= last;) {
        int count = run_length(model, module, child);

        put(printer, "\n(", indent + 2);
        if (model->modules[module].folds) {
            put_number(printer, position);
            if (count > 1) {
                put(printer, "-", 0);
                put_number(printer, position + count - 1);
            }
        } else {
            put(printer, model->modules[child].name, 0);
        }
        put(printer, "): ", 0);
        if (count > 1) {
            put_number(printer, count);
            put(printer, " x ", 0);
        }
        put_module(printer, child, indent + 2);
        position += count;
        for (; count > 0; count--)
            child += model->modules[child].subtree + 1;
    }
}

/* Goes as deep as the tree, which the generator keeps to 64. */
static void put_module(const struct printer *printer, int module, int indent)
{
    const struct modc_module *m = &printer->model->modules[module];
    bool has_newline = false;

    for (const char *text = m->extra_repr; *text != '\0'; text++)
        has_newline = has_newline || *text == '\n';
    put(printer, m->class_name, 0);
    put(printer, "(", 0);
    if (m->subtree == 0 && !has_newline) {
        put(printer, m->extra_repr, 0);
    } else {
        if (m->extra_repr[0] != '\0') {
            put(printer, "\n", indent + 2);
            put(printer, m->extra_repr, indent + 2);
        }
        put_children(printer, module, indent);
        put(printer, "\n", indent);
    }
    put(printer, ")", 0);
}

void modc_print(const struct modc_model *model, void (*write)(void *user, const char *text, size_t length),
                void *user)
{
    struct printer printer = {model, write, user};

    put_module(&printer, 0, 0);
}
