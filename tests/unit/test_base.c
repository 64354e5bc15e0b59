/* test_base.c - arena, diagnostics, texts, files. */
#define _POSIX_C_SOURCE 200809L

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/diag.h"
#include "base/names.h"
#include "base/storage.h"
#include "base/text.h"

/* What diag_print writes; for the caller to free. */
static char *printed(const struct cx *cx, bool json)
{
    char *text = NULL;
    size_t size = 0;
    FILE *file = open_memstream(&text, &size);

    assert_non_null(file);
    diag_print(cx, file, json ? DIAG_JSON : DIAG_PLAIN);
    fclose(file);
    return text;
}

static void assert_printed(const struct cx *cx, bool json, const char *expected)
{
    char *text = printed(cx, json);

    assert_string_equal(text, expected);
    free(text);
}

static struct source source_of(const char *name, const char *text)
{
    return (struct source){.name = name, .text = text, .length = strlen(text)};
}

/* Arena -------------------------------------------------------------------------------------------------- */

static void arena_gives_zeroed_aligned_memory(void **state)
{
    struct arena arena = {0};

    (void)state;
    for (size_t size = 0; size < 100000; size = size * 2 + 1) {
        unsigned char *bytes = arena_alloc(&arena, size);

        assert_int_equal((uintptr_t)bytes % _Alignof(max_align_t), 0);
        for (size_t i = 0; i < size; i++)
            assert_int_equal(bytes[i], 0);
        memset(bytes, 0xff, size);
    }
    assert_true(arena.used > 100000);
    arena_free(&arena);
    assert_null(arena.head);
}

static void arena_grows_lists(void **state)
{
    struct arena arena = {0};
    int *list = NULL, count = 0;

    (void)state;
    for (int i = 0; i < 1000; i++)
        ARENA_PUSH(&arena, list, count, i * i);
    assert_int_equal(count, 1000);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(list[i], i * i);
    arena_free(&arena);
}

static void arena_copies_and_formats(void **state)
{
    struct arena arena = {0};

    (void)state;
    assert_string_equal(arena_copy(&arena, "linear", 3), "lin");
    assert_string_equal(arena_string(&arena, ""), "");
    assert_string_equal(arena_format(&arena, "%s.%d", "fc", 12), "fc.12");
    arena_free(&arena);
}

static void names_find_duplicates(void **state)
{
    struct arena arena = {0};
    struct names names = {0};
    struct loc loc = {0};

    (void)state;
    for (int i = 0; i < 1000; i++) {
        const char *name = arena_format(&arena, "n%d", i);

        assert_null(names_find(&names, name));
        assert_null(names_add(&arena, &names, name, name, loc));
    }
    for (int i = 0; i < 1000; i++) {
        const char *name = arena_format(&arena, "n%d", i);

        assert_string_equal(names_add(&arena, &names, name, "other", loc)->name, name);
    }
    assert_int_equal(names.count, 1000);
    arena_free(&arena);
}

/* Places ------------------------------------------------------------------------------------------------- */

static void assert_place(struct loc loc, int line, int column, int length)
{
    assert_int_equal(loc.line, line);
    assert_int_equal(loc.column, column);
    assert_int_equal(loc.length, length);
}

static void places_count_characters(void **state)
{
    struct source source = source_of("f", "\xef\xbb\xbf"
                                          "a\xc3\xa9\xe2\x82\xac"
                                          "b\r\ncd\re\n");

    (void)state;
    assert_place(loc_at(&source, 3, 1), 1, 1, 1);  /* behind the byte order mark */
    assert_place(loc_at(&source, 4, 5), 1, 2, 2);  /* two characters of 2 and 3 bytes */
    assert_place(loc_at(&source, 9, 9), 1, 4, 1);  /* ends with its line */
    assert_place(loc_at(&source, 12, 2), 2, 1, 2); /* behind \r\n */
    assert_place(loc_at(&source, 15, 1), 3, 1, 1); /* behind a lone \r */
    assert_place(loc_at(&source, 99, 9), 4, 1, 1); /* the end */
}

static void places_are_the_same_in_any_order(void **state)
{
    struct source source = source_of("f", "one\r\ntwo \xc3\xa9\xc3\xa9\n\n\rfive\r\n  six seven\nx");
    struct source bom = source_of("g", "\xef\xbb\xbf"
                                       "ab\n\xe2\x82\xac"
                                       "cd\nx\n");
    struct cx cx = {0};
    unsigned random = 1;

    (void)state;
    for (int i = 0; i < 5000; i++) {
        random = random * 1103515245u + 12345u;

        const struct source *s = random >> 30 ? &source : &bom;
        size_t offset = (random >> 8) % (s->length + 3), bytes = (random >> 20) % 9;
        struct loc a = loc_at(s, offset, bytes), b = diag_loc(&cx, s, offset, bytes);

        assert_place(b, a.line, a.column, a.length);
        assert_int_equal(a.offset, b.offset);
    }
}

static void places_are_cut_and_joined(void **state)
{
    struct source source = source_of("f", "fc: Linear(4)\nact: Tanh()\n");
    struct loc first = loc_at(&source, 4, 6), last = loc_at(&source, 12, 1), next = loc_at(&source, 19, 4);

    (void)state;
    assert_place(loc_join(first, last), 1, 5, 9);
    assert_place(loc_join(first, next), 1, 5, 6);
    assert_place(loc_part(first, 2, 3), 1, 7, 3);
    assert_int_equal(loc_part(first, 2, 3).offset, 6);
}

/* Diagnostics -------------------------------------------------------------------------------------------- */

static void diagnostics_show_line_and_caret(void **state)
{
    struct source source = source_of("specs/mlp.yaml", "a\n  fc: Linear(in_features=4, out_feature=3)\n");
    struct cx cx = {0};
    const char *const known[] = {"in_features", "out_features", "bias"};

    (void)state;
    diag_error(&cx, loc_at(&source, 30, 11), "Linear has no argument '%s'", "out_feature");
    diag_hint_nearest(&cx, "out_feature", known, 3);
    diag_note(&cx, loc_at(&source, 0, 1), "first");
    assert_int_equal(diag_errors(&cx), 1);
    assert_printed(&cx, false,
                   "specs/mlp.yaml:2:29: error: Linear has no argument 'out_feature'\n"
                   "  fc: Linear(in_features=4, out_feature=3)\n"
                   "                            ^~~~~~~~~~~\n"
                   "hint: did you mean 'out_features'?\n"
                   "specs/mlp.yaml:1:1: note: first\n");
    assert_printed(
        &cx, true,
        "{\"level\":\"error\",\"file\":\"specs/mlp.yaml\",\"line\":2,\"column\":29,\"length\":11,"
        "\"message\":\"Linear has no argument 'out_feature'\",\"hints\":[\"did you mean 'out_features'?\"],"
        "\"notes\":[{\"file\":\"specs/mlp.yaml\",\"line\":1,\"column\":1,\"length\":1,"
        "\"message\":\"first\"}]}\n");
    arena_free(&cx.arena);
}

static void diagnostics_are_said_once_and_in_order(void **state)
{
    struct source source = source_of("f", "one\ntwo\n");
    struct cx cx = {0};

    (void)state;
    diag_error(&cx, loc_at(&source, 4, 3), "second");
    diag_warning(&cx, loc_at(&source, 0, 3), "first");
    diag_error(&cx, loc_at(&source, 4, 3), "second");
    diag_hint(&cx, "goes with what was said before");
    diag_error(&cx, loc_at(&source, 4, 3), "third, at the same place");
    assert_int_equal(cx.errors, 2);
    assert_int_equal(cx.warnings, 1);
    assert_printed(&cx, false,
                   "f:1:1: warning: first\none\n^~~\nf:2:1: error: second\ntwo\n^~~\n"
                   "f:2:1: error: third, at the same place\ntwo\n^~~\n");
    arena_free(&cx.arena);
}

static void diagnostics_stop_at_twenty(void **state)
{
    struct source source = source_of("f", "x\n");
    struct cx cx = {0};

    (void)state;
    for (int i = 0; i < 25; i++) {
        diag_error(&cx, loc_at(&source, 0, 1), "error %d.", i);
        diag_hint(&cx, "hint %d.", i);
    }

    char *text = printed(&cx, false);

    assert_int_equal(diag_errors(&cx), 25);
    assert_non_null(strstr(text, "error 19."));
    assert_non_null(strstr(text, "hint 19."));
    assert_null(strstr(text, "20."));
    assert_non_null(strstr(text, "\n5 more errors were not shown\n"));
    free(text);
    text = printed(&cx, true);
    assert_non_null(
        strstr(text, "\"message\":\"5 more errors were not shown\",\"hints\":[],\"notes\":[]}\n"));
    free(text);
    arena_free(&cx.arena);
}

static void diagnostics_without_a_place(void **state)
{
    struct cx cx = {0};

    (void)state;
    diag_error(&cx, (struct loc){0}, "out of %s", "luck");
    assert_printed(&cx, false, "modc: error: out of luck\n");
    assert_printed(
        &cx, true,
        "{\"level\":\"error\",\"file\":null,\"line\":0,\"column\":0,\"length\":0,\"message\":\"out of luck\","
        "\"hints\":[],\"notes\":[]}\n");
    arena_free(&cx.arena);
}

static void diagnostics_show_odd_lines(void **state)
{
    struct source tab = source_of("f", "\ta\033[1m b"), end = source_of("g", "");
    struct cx cx = {0};

    (void)state;
    diag_error(&cx, loc_at(&tab, 7, 1), "bell \a");
    diag_error(&cx, loc_at(&end, 0, 1), "empty");
    assert_printed(&cx, false, "f:1:8: error: bell ?\n\ta?[1m b\n\t      ^\ng:1:1: error: empty\n\n^\n");
    arena_free(&cx.arena);
}

static void diagnostics_cut_long_lines(void **state)
{
    char line[5001];
    struct cx cx = {0};

    (void)state;
    memset(line, 'x', 5000);
    line[5000] = 0;

    struct source source = source_of("f", line);

    diag_error(&cx, loc_at(&source, 2500, 2000), "long");

    char *text = printed(&cx, false);

    assert_true(strlen(text) < 700);
    assert_non_null(strstr(text, "\n...xxx"));
    assert_non_null(strstr(text, "xxx...\n"));
    free(text);
    arena_free(&cx.arena);
}

static void spellings_that_are_near(void **state)
{
    static const char *const known[] = {"Linear", "ReLU", "Conv2d", "BatchNorm2d"};

    (void)state;
    assert_string_equal(diag_nearest("Liner", known, 4), "Linear");
    assert_string_equal(diag_nearest("linear", known, 4), "Linear");
    assert_string_equal(diag_nearest("relu", known, 4), "ReLU");
    assert_string_equal(diag_nearest("Covn2d", known, 4), "Conv2d"); /* two neighbours swapped */
    assert_string_equal(diag_nearest("Batchnorm", known, 4), "BatchNorm2d");
    assert_null(diag_nearest("Tanh", known, 4));
    assert_null(diag_nearest("x", known, 4));
    assert_null(diag_nearest("", known, 4));
}

/* Texts -------------------------------------------------------------------------------------------------- */

static void texts_grow(void **state)
{
    struct arena arena = {0};
    struct text text = text_new(&arena);

    (void)state;
    for (int i = 0; i < 1000; i++)
        text_printf(&text, "%d,", i);
    text_add(&text, "end");
    text_add_bytes(&text, "\0x", 2);
    assert_int_equal(text.length, 2 * 10 + 3 * 90 + 4 * 900 + 3 + 2);
    assert_memory_equal(text.data, "0,1,2,", 6);
    assert_memory_equal(text.data + text.length - 5, "end\0x", 6);
    arena_free(&arena);
}

static void json_strings_are_valid(void **state)
{
    struct arena arena = {0};
    struct text text = text_new(&arena);

    (void)state;
    text_json_string(&text, "a\"b\\\n\t\x01\x7f \xc3\xa9 \xff\xc3");
    assert_string_equal(text.data, "\"a\\\"b\\\\\\n\\t\\u0001\\u007f \xc3\xa9 \\ufffd\\ufffd\"");
    arena_free(&arena);
}

static void doubles_print_as_in_python(void **state)
{
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0.0"},
        {-0.0, "-0.0"},
        {1.0, "1.0"},
        {0.1, "0.1"},
        {100.0, "100.0"},
        {1e-5, "1e-05"},
        {0.0001, "0.0001"},
        {1e15, "1000000000000000.0"},
        {1e16, "1e+16"},
        {1.5e300, "1.5e+300"},
        {123456.789, "123456.789"},
        {1.0 / 3.0, "0.3333333333333333"},
        {5e-324, "5e-324"},
        {0.1 + 0.2, "0.30000000000000004"},
        {-2.5, "-2.5"},
        {HUGE_VAL, "inf"},
        {-HUGE_VAL, "-inf"},
        {1.7976931348623157e308, "1.7976931348623157e+308"},
        {1e-12, "1e-12"},
    };
    struct arena arena = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = text_new(&arena);

        text_double(&text, cases[i].value);
        assert_string_equal(text.data, cases[i].text);
    }
    arena_free(&arena);
}

static void bytes_for_people(void **state)
{
    static const struct {
        int64_t bytes;
        const char *text;
    } cases[] = {
        {0, "0 bytes"},     {1, "1 byte"},     {1023, "1023 bytes"}, {1024, "1 KB"},
        {76013, "74.2 KB"}, {1048576, "1 MB"}, {1572865, "1.5 MB"},  {(int64_t)3 << 30, "3072 MB"},
    };
    struct arena arena = {0};

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(text_bytes(&arena, cases[i].bytes), cases[i].text);
    arena_free(&arena);
}

static void hashes_are_fnv(void **state)
{
    (void)state;
    assert_true(text_hash("", 0) == 0xcbf29ce484222325u);
    assert_true(text_hash("a", 1) == 0xaf63dc4c8601ec8cu);
    assert_true(text_hash("foobar", 6) == 0x85944171f73967e8u);
}

static void utf8_is_told_from_other_bytes(void **state)
{
    static const struct {
        const char *text;
        int length;
    } cases[] = {
        {"a", 1},
        {"\xc3\xa9", 2},
        {"\xe2\x82\xac", 3},
        {"\xf0\x9f\x98\x80", 4},
        {"\x80", 0},
        {"\xc0\x80", 0},
        {"\xc3", 0},
        {"\xe2\x82", 0},
        {"\xed\xa0\x80", 0},
        {"\xf4\x90\x80\x80", 0},
        {"\xff", 0},
        {"\xe0\x80\x80", 0},
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(text_utf8_length(cases[i].text), cases[i].length);
}

/* Files -------------------------------------------------------------------------------------------------- */

static char folder[] = "/tmp/modc-test-XXXXXX";

static const char *below(struct cx *cx, const char *path)
{
    return arena_format(&cx->arena, "%s/%s", folder, path);
}

static int make_folder(void **state)
{
    (void)state;
    strcpy(folder + strlen(folder) - 6, "XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static void remove_tree(const char *path)
{
    DIR *dir = opendir(path);

    for (struct dirent *entry; dir && (entry = readdir(dir));) {
        char child[1024];

        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        snprintf(child, sizeof child, "%s/%s", path, entry->d_name);
        remove_tree(child);
    }
    if (dir)
        closedir(dir);
    remove(path);
}

static int remove_folder(void **state)
{
    (void)state;
    remove_tree(folder);
    return 0;
}

/* Files in a folder, of all kinds and names. */
static int count_files(const char *path)
{
    DIR *dir = opendir(path);
    int count = 0;

    assert_non_null(dir);
    while (readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

static void assert_holds(struct cx *cx, const char *path, const char *expected)
{
    const char *error = NULL;
    struct source *source = source_read(cx, path, 1 << 20, &error);

    assert_non_null(source);
    assert_string_equal(source->text, expected);
    assert_int_equal(source->length, strlen(expected));
}

static void files_are_read_whole(void **state)
{
    struct cx cx = {0};
    const char *error = NULL;
    struct output_file file = {"a.yaml", "modc: 1\n", 8, NULL, NULL};

    (void)state;
    assert_true(output_write(&cx, folder, &file, 1, &error));
    assert_holds(&cx, below(&cx, "a.yaml"), "modc: 1\n");
    assert_non_null(source_read(&cx, below(&cx, "a.yaml"), 8, &error));
    assert_null(source_read(&cx, below(&cx, "a.yaml"), 7, &error));
    assert_non_null(strstr(error, "larger than 7 bytes"));
    assert_null(source_read(&cx, below(&cx, "none"), 8, &error));
    assert_non_null(strstr(error, "No such file"));
    assert_null(source_read(&cx, folder, 8, &error));
    assert_non_null(strstr(error, "folder"));
    arena_free(&cx.arena);
}

static void output_touches_only_what_changed(void **state)
{
    struct cx cx = {0};
    const char *error = NULL, *out = below(&cx, "deep/er/out");
    struct output_file files[] = {{"m.h", "old", 3, NULL, NULL}, {"runtime/m.c", "same", 4, NULL, NULL}};
    struct stat before[2], after[2];
    struct timespec past[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}};

    (void)state;
    assert_true(output_write(&cx, out, files, 2, &error));
    for (int i = 0; i < 2; i++) {
        const char *path = arena_format(&cx.arena, "%s/%s", out, files[i].path);

        assert_int_equal(utimensat(AT_FDCWD, path, past, 0), 0);
        assert_int_equal(stat(path, &before[i]), 0);
    }
    files[0].bytes = "new";
    assert_true(output_write(&cx, out, files, 2, &error));
    for (int i = 0; i < 2; i++)
        assert_int_equal(stat(arena_format(&cx.arena, "%s/%s", out, files[i].path), &after[i]), 0);
    assert_holds(&cx, arena_format(&cx.arena, "%s/m.h", out), "new");
    assert_true(after[0].st_mtime > 1000);
    assert_int_equal(after[1].st_mtime, 1000);
    assert_int_equal(after[1].st_ino, before[1].st_ino);
    assert_int_equal(after[0].st_mode, before[0].st_mode);
    assert_int_equal(count_files(out), 2);
    assert_int_equal(count_files(arena_format(&cx.arena, "%s/runtime", out)), 1);
    arena_free(&cx.arena);
}

static void output_is_all_or_nothing(void **state)
{
    struct cx cx = {0};
    const char *error = NULL;
    struct output_file files[] = {
        {"a", "old a", 5, NULL, NULL}, {"b", "old b", 5, NULL, NULL}, {"c/d", "new", 3, NULL, NULL}};
    struct stat before, after;

    (void)state;
    assert_true(output_write(&cx, folder, files, 2, &error));
    assert_int_equal(stat(below(&cx, "a"), &before), 0);
    assert_int_equal(mkdir(below(&cx, "e"), 0777), 0);
    files[0].bytes = "new a";
    files[1].path = "e"; /* a folder */
    assert_false(output_write(&cx, folder, files, 3, &error));
    assert_non_null(strstr(error, "it is a folder"));
    files[1].path = "b/x"; /* below a file */
    assert_false(output_write(&cx, folder, files, 3, &error));
    assert_non_null(strstr(error, "it is a file, not a folder"));
    assert_false(output_write(&cx, below(&cx, "b"), files, 1, &error));
    assert_non_null(strstr(error, "it is a file, not a folder"));
    assert_false(output_write(&cx, below(&cx, "b/deep"), files, 1, &error));
    assert_holds(&cx, below(&cx, "a"), "old a");
    assert_int_equal(stat(below(&cx, "a"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(count_files(folder), 3);
    arena_free(&cx.arena);
}

static void output_undoes_what_was_renamed(void **state)
{
    struct cx cx = {0};
    const char *error = NULL;
    struct output_file files[] = {
        {"a", "old a", 5, NULL, NULL}, {"b", "old b", 5, NULL, NULL}, {"new", "x", 1, NULL, NULL}};
    struct stat before, after;

    (void)state;
    assert_true(output_write(&cx, folder, files, 2, &error));
    assert_int_equal(stat(below(&cx, "a"), &before), 0);
    files[0].bytes = "new a";
    files[1].bytes = "new b";

    /* A folder where the old `b` would be put aside: by then `a` is replaced. */
    assert_int_equal(mkdir(below(&cx, arena_format(&cx.arena, ".b.old-%ld-0", (long)getpid())), 0777), 0);
    assert_false(output_write(&cx, folder, files, 3, &error));
    assert_non_null(strstr(error, "cannot replace"));
    assert_holds(&cx, below(&cx, "a"), "old a");
    assert_holds(&cx, below(&cx, "b"), "old b");
    assert_int_equal(stat(below(&cx, "a"), &after), 0);
    assert_int_equal(before.st_ino, after.st_ino);
    assert_int_equal(count_files(folder), 3);
    arena_free(&cx.arena);
}

static void text_stays_in_comments(void **state)
{
    struct arena arena = {0};

    (void)state;
    assert_string_equal(text_in_comment(&arena, "Linear(4, 4) / 2 * 3"), "Linear(4, 4) / 2 * 3");
    assert_string_equal(text_in_comment(&arena, "*/"), "* /");
    assert_string_equal(text_in_comment(&arena, "a/*b*/c"), "a/ *b* /c");
    assert_string_equal(text_in_comment(&arena, "/*/"), "/ * /");
    assert_string_equal(text_in_comment(&arena, ""), "");
    arena_free(&arena);
}

/* The text of a storage is read as what it was of; whatever is not such a text is refused. */
static void storages_are_read_back(void **state)
{
    static const char *const good[] = {"bfloat16",
                                       "bfloat16(bits=12)",
                                       "float16",
                                       "int8",
                                       "int8(rounding=gguf)",
                                       "int8(group=8, scale=bfloat16)",
                                       "int8(scale=float16)",
                                       "int4(group=32)",
                                       "int4(group=4096, scale=float32, rounding=gguf)"};
    static const char *const bad[] = {"",
                                      "int",
                                      "int88",
                                      "float32",
                                      "int8(",
                                      "int8()",
                                      "int8(group=32",
                                      "int8(group=32))",
                                      "int8(group=0)",
                                      "int8(group=12)",
                                      "int8(group=4104)",
                                      "int8(group=-8)",
                                      "int8(group=99999999999999999999)",
                                      "int8(group=8,scale=float32)",
                                      "int8(scale=int8)",
                                      "int8(rounding=other)",
                                      "bfloat16(group=8)",
                                      "bfloat16(bits=16)",
                                      "float16(bits=12)"};
    struct arena arena = {0};
    struct storage storage;

    (void)state;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_true(storage_parse(good[i], &storage));
        assert_string_equal(storage_text(&arena, &storage), good[i]);
    }
    assert_true(storage_parse("int4", &storage) && storage_equal(&storage, storage_find("int4")));
    assert_true(storage_parse("int8(rounding=symmetric)", &storage) &&
                storage_equal(&storage, storage_find("int8")));
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (storage_parse(bad[i], &storage))
            fail_msg("'%s' is taken", bad[i]);
    arena_free(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_stays_in_comments),
        cmocka_unit_test(arena_gives_zeroed_aligned_memory),
        cmocka_unit_test(arena_grows_lists),
        cmocka_unit_test(arena_copies_and_formats),
        cmocka_unit_test(names_find_duplicates),
        cmocka_unit_test(storages_are_read_back),
        cmocka_unit_test(places_count_characters),
        cmocka_unit_test(places_are_the_same_in_any_order),
        cmocka_unit_test(places_are_cut_and_joined),
        cmocka_unit_test(diagnostics_show_line_and_caret),
        cmocka_unit_test(diagnostics_are_said_once_and_in_order),
        cmocka_unit_test(diagnostics_stop_at_twenty),
        cmocka_unit_test(diagnostics_without_a_place),
        cmocka_unit_test(diagnostics_show_odd_lines),
        cmocka_unit_test(diagnostics_cut_long_lines),
        cmocka_unit_test(spellings_that_are_near),
        cmocka_unit_test(texts_grow),
        cmocka_unit_test(json_strings_are_valid),
        cmocka_unit_test(doubles_print_as_in_python),
        cmocka_unit_test(bytes_for_people),
        cmocka_unit_test(hashes_are_fnv),
        cmocka_unit_test(utf8_is_told_from_other_bytes),
        cmocka_unit_test_setup_teardown(files_are_read_whole, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(output_touches_only_what_changed, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(output_is_all_or_nothing, make_folder, remove_folder),
        cmocka_unit_test_setup_teardown(output_undoes_what_was_renamed, make_folder, remove_folder),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
