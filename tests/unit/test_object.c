/* test_object.c - objects of the compiler that built this: sections and who uses what; and broken ones. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "commands/object.h"
#include "commands/options.h"
#include "commands/process.h"

static const char text[] =
    "extern int elsewhere(int);\n"
    "const int table[64] = {1, 2, 3};\n"
    "int values[16] = {4}, nothing[32];\n"
    "__attribute__((noinline)) static int half(int x)\n{\n    return elsewhere(x) / 2;\n}\n"
    "int quarter(int x);\n"
    "int quarter(int x)\n{\n    return half(half(x)) + table[x] + values[x] + nothing[x];\n}\n"
    "int unused(int x);\n"
    "int unused(int x)\n{\n    return x;\n}\n";

/* The bytes of the object, which the caller frees. */
static unsigned char *compiled(size_t *length)
{
    struct options options = {0};
    struct cx cx = {.options = &options};
    const char *error = NULL, *folder = process_make_folder(&cx, &error), *cc = getenv("CC");
    const struct output_file file = {"a.c", text, sizeof text - 1, NULL, NULL};
    struct process compiler = {0};
    const struct source *object;
    unsigned char *bytes;

    assert_non_null(folder);
    assert_true(output_write(&cx, folder, &file, 1, &error));
    process_words(&cx, &compiler, cc && cc[0] ? cc : "cc");
    process_words(&cx, &compiler, "-O1 -fPIC -ffunction-sections -fdata-sections -c -o");
    process_word(&cx, &compiler, arena_format(&cx.arena, "%s/a.o", folder));
    process_word(&cx, &compiler, arena_format(&cx.arena, "%s/a.c", folder));
    assert_true(process_run(&compiler, 1, 1));
    assert_true(process_succeeded(&compiler));
    object = source_read(&cx, arena_format(&cx.arena, "%s/a.o", folder), (size_t)1 << 20, &error);
    process_remove_folder();
    assert_non_null(object);
    *length = object->length;
    bytes = malloc(object->length);
    assert_non_null(bytes);
    memcpy(bytes, object->text, object->length);
    arena_free(&cx.arena);
    return bytes;
}

static const struct object_symbol *find(const struct object *object, const char *name)
{
    for (int i = 0; i < object->symbol_count; i++)
        if (strcmp(object->symbols[i].name, name) == 0)
            return &object->symbols[i];
    fail_msg("there is no symbol '%s'", name);
    return NULL;
}

/* Whether the section of one symbol uses another, by its name or by its section. */
static bool uses(const struct object *object, const char *from, const char *to)
{
    const struct object_section *section = &object->sections[find(object, from)->section];
    const struct object_symbol *wanted = find(object, to);

    for (int i = 0; i < section->use_count; i++) {
        const struct object_symbol *symbol = &object->symbols[section->uses[i]];

        if (symbol == wanted || (wanted->section >= 0 && symbol->section == wanted->section))
            return true;
    }
    return false;
}

static void test_sections(void **state)
{
    static const struct {
        const char *name;
        enum object_kind kind;
        int64_t bytes; /* 0: some */
        bool function, global;
    } cases[] = {
        {"quarter", OBJECT_TEXT, 0, true, true},  {"half", OBJECT_TEXT, 0, true, false},
        {"unused", OBJECT_TEXT, 0, true, true},   {"table", OBJECT_RODATA, 256, false, true},
        {"values", OBJECT_DATA, 64, false, true}, {"nothing", OBJECT_BSS, 128, false, true},
    };
    struct arena arena = {0};
    struct object object;
    size_t length;
    unsigned char *bytes = compiled(&length);

    (void)state;
    assert_true(object_read(&arena, bytes, length, &object));
    free(bytes); /* it points into nothing */
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct object_symbol *symbol = find(&object, cases[i].name);

        assert_true(symbol->section > 0);
        assert_int_equal(object.sections[symbol->section].kind, cases[i].kind);
        assert_true(cases[i].bytes ? object.sections[symbol->section].bytes == cases[i].bytes
                                   : object.sections[symbol->section].bytes > 0);
        assert_int_equal(symbol->function, cases[i].function);
        assert_int_equal(symbol->global, cases[i].global);
    }
    assert_int_equal(find(&object, "elsewhere")->section, -1);
    assert_true(uses(&object, "quarter", "half"));
    assert_true(uses(&object, "quarter", "table"));
    assert_true(uses(&object, "quarter", "values"));
    assert_true(uses(&object, "quarter", "nothing"));
    assert_true(uses(&object, "half", "elsewhere"));
    assert_false(uses(&object, "half", "quarter"));
    assert_false(uses(&object, "unused", "half"));
    arena_free(&arena);
}

/* Cut anywhere, or with any byte changed, a file is refused or read, and nothing outside of it is. */
static void test_broken(void **state)
{
    size_t length;
    unsigned char *bytes = compiled(&length);
    unsigned char *copy = malloc(length); /* its end is the sanitizer's fence */

    (void)state;
    assert_non_null(copy);
    for (size_t cut = 0; cut < length; cut++) {
        struct arena arena = {0};
        unsigned char *part = malloc(cut + 1);
        struct object object;

        assert_non_null(part);
        memcpy(part, bytes, cut);
        assert_false(object_read(&arena, part, cut, &object)); /* the table of sections stands at the end */
        free(part);
        arena_free(&arena);
    }
    for (size_t at = 0; at < length; at++) {
        for (int change = 0; change < 3; change++) {
            struct arena arena = {0};
            struct object object;

            memcpy(copy, bytes, length);
            copy[at] = change == 0 ? 0xff : change == 1 ? 0 : (unsigned char)(copy[at] + 1);
            object_read(&arena, copy, length, &object);
            arena_free(&arena);
        }
    }
    free(copy);
    free(bytes);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_broken),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
