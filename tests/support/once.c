/* once.c - a C compiler that compiles a file once for the same text, headers and flags, and keeps the object; all
 * else goes to the compiler as it is. Most of what tests compile is the runtime.
 *
 *     ONCE=FOLDER CC="modc_once gcc" modc run ...
 *     ONCE=FOLDER CMAKE_C_COMPILER_LAUNCHER=modc_once cmake ...
 *
 * A program and no script, since it runs for each file of each model. */
#define _POSIX_C_SOURCE 200809L
#include <dirent.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MAX_FOLDERS = 16, MAX_PATH = 4096, NO_COMPILER = 127 };

/* What a command line says. */
struct command {
    char **words; /* the compiler and its arguments */
    const char *source, *object;
    const char *depends, *target;     /* -MF and -MT */
    const char *folders[MAX_FOLDERS]; /* of headers */
    int folder_count;
    bool is_compilation; /* of one file, and known in all its words */
    uint64_t key;
};

static bool starts_with(const char *text, const char *start)
{
    return strncmp(text, start, strlen(start)) == 0;
}

static bool ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);

    return length >= tail && strcmp(text + length - tail, end) == 0;
}

static const char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- the key: FNV-1a of all that an object depends on ------------------------------------------------------ */

static void add_bytes(uint64_t *key, const void *bytes, size_t count)
{
    const unsigned char *at = bytes;

    for (size_t i = 0; i < count; i++)
        *key = (*key ^ at[i]) * UINT64_C(0x100000001b3);
}

/* With its end, so that words do not run into each other. */
static void add_text(uint64_t *key, const char *text)
{
    add_bytes(key, text, strlen(text) + 1);
}

static bool add_file(uint64_t *key, const char *path)
{
    static char piece[1 << 16];
    FILE *file = fopen(path, "rb");
    size_t count;

    if (!file)
        return false;
    add_text(key, name_of(path));
    while ((count = fread(piece, 1, sizeof piece, file)) > 0)
        add_bytes(key, piece, count);
    return fclose(file) == 0;
}

/* Calls `see` with each header below a folder, by name. Files of the runtime include its own headers alone: the
 * object is the same for all models. False: there is one that cannot be read. */
static bool each_header(const struct command *command, const char *folder, bool (*see)(void *, const char *),
                        void *data)
{
    const char *start = starts_with(name_of(command->source), "modc_") ? "modc" : "";
    struct dirent **entries;
    int count = scandir(folder, &entries, NULL, alphasort);
    bool good = true;

    for (int i = 0; i < count; i++) {
        const char *name = entries[i]->d_name;
        char path[MAX_PATH];
        struct stat about;

        if (name[0] != '.' && snprintf(path, sizeof path, "%s/%s", folder, name) < MAX_PATH &&
            stat(path, &about) == 0) {
            if (S_ISDIR(about.st_mode))
                good = each_header(command, path, see, data) && good;
            else if (ends_with(name, ".h") && starts_with(name, start))
                good = see(data, path) && good;
        }
        free(entries[i]);
    }
    if (count >= 0)
        free(entries);
    return good;
}

/* Whether a source includes headers alone: files of instruction sets include the model's. */
static bool includes_headers(const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t room = 0;
    bool good = file != NULL;

    while (good && getline(&line, &room, file) > 0)
        good = line[0] != '#' || !strstr(line, ".c\"");
    free(line);
    if (file)
        fclose(file);
    return good;
}

static bool see_key(void *key, const char *path)
{
    return add_file(key, path);
}

/* ---- the command line --------------------------------------------------------------------------------------- */

static void add_folder(struct command *command, const char *folder)
{
    if (starts_with(folder, "/usr/include")) /* the system's own */
        return;
    for (int i = 0; i < command->folder_count; i++) {
        if (strcmp(command->folders[i], folder) == 0)
            return;
    }
    if (command->folder_count == MAX_FOLDERS)
        command->is_compilation = false;
    else
        command->folders[command->folder_count++] = folder;
}

/* The value of an option that may stand in the next word. */
static const char *value_of(char ***word, const char *option)
{
    const char *value = **word + strlen(option);

    return *value || !(*word)[1] ? value : *++*word;
}

static void read_word(struct command *command, char ***word, bool *compiles, const char **model)
{
    const char *text = **word;

    if (strcmp(text, "-c") == 0) {
        *compiles = true;
    } else if (starts_with(text, "-o")) {
        command->object = value_of(word, "-o");
    } else if (starts_with(text, "-I")) {
        add_folder(command, value_of(word, "-I"));
    } else if (starts_with(text, "-MF")) {
        command->depends = value_of(word, "-MF");
    } else if (starts_with(text, "-MT")) {
        command->target = value_of(word, "-MT");
    } else if (starts_with(text, "-DMODC_MODEL=")) {
        *model = text;
    } else if (text[0] != '-' && ends_with(text, ".c")) {
        command->source = text;
    } else {
        if (text[0] == '@' || strcmp(text, "-include") == 0 || strcmp(text, "-E") == 0 ||
            strcmp(text, "-S") == 0)
            command->is_compilation = false;
        add_text(&command->key, text);
    }
}

static struct command read_command(char **words)
{
    struct command command = {.words = words, .is_compilation = true, .key = UINT64_C(0xcbf29ce484222325)};
    const char *model = NULL;
    bool compiles = false;
    static char own[MAX_PATH];
    char *slash;

    for (char **word = words; *word; word++)
        read_word(&command, &word, &compiles, &model);
    command.is_compilation &= compiles && command.source && strlen(command.source) < sizeof own &&
                              command.object && ends_with(command.object, ".o"); /* never a device */
    if (!command.is_compilation)
        return command;
    slash = strrchr(strcpy(own, command.source), '/');
    if (slash)
        *slash = '\0';
    add_folder(&command, slash ? own : ".");
    if (model && strcmp(name_of(command.source), "modc_main.c") == 0) /* no other file asks for it */
        add_text(&command.key, model);
    for (int i = 0; i < command.folder_count; i++)
        command.is_compilation &= each_header(&command, command.folders[i], see_key, &command.key);
    command.is_compilation &= includes_headers(command.source) && add_file(&command.key, command.source);
    return command;
}

/* ---- objects ------------------------------------------------------------------------------------------------ */

/* A whole file or none, whoever else makes it. */
static bool copy_file(const char *from, const char *to)
{
    static char piece[1 << 16];
    char path[MAX_PATH];
    FILE *in = fopen(from, "rb"), *out = NULL;
    bool good = in != NULL && snprintf(path, sizeof path, "%s.%ld", to, (long)getpid()) < MAX_PATH;
    size_t count;

    if (good)
        out = fopen(path, "wb");
    good = out != NULL;
    while (good && (count = fread(piece, 1, sizeof piece, in)) > 0)
        good = fwrite(piece, 1, count, out) == count;
    if (in)
        fclose(in);
    if (!out)
        return false;
    good = fclose(out) == 0 && good && rename(path, to) == 0;
    if (!good)
        remove(path);
    return good;
}

static bool write_path(void *data, const char *path)
{
    FILE *file = data;

    fputs(" \\\n ", file);
    for (const char *at = path; *at; at++)
        fprintf(file, *at == ' ' ? "\\%c" : "%c", *at);
    return !ferror(file);
}

/* For make and ninja, in place of the compiler: all headers that may have been included. */
static bool write_depends(const struct command *command)
{
    FILE *file;

    if (!command->depends)
        return true;
    file = fopen(command->depends, "w");
    if (!file)
        return false;
    fprintf(file, "%s:", command->target ? command->target : command->object);
    write_path(file, command->source);
    for (int i = 0; i < command->folder_count; i++)
        each_header(command, command->folders[i], write_path, file);
    putc('\n', file);
    return fclose(file) == 0;
}

/* The compiler's exit status. What it says comes out here; *silent: it said nothing. */
static int compile(const struct command *command, bool *silent)
{
    FILE *said = tmpfile();
    pid_t child;
    int status, letter;

    if (!said || (child = fork()) < 0) {
        perror("modc_once");
        return NO_COMPILER;
    }
    if (child == 0) {
        dup2(fileno(said), STDERR_FILENO);
        execvp(command->words[0], command->words);
        perror(command->words[0]);
        _exit(NO_COMPILER);
    }
    while (waitpid(child, &status, 0) < 0 && errno == EINTR)
        continue;
    rewind(said);
    *silent = true;
    while ((letter = getc(said)) != EOF) {
        putc(letter, stderr);
        *silent = false;
    }
    fclose(said);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

int main(int count, char **words)
{
    const char *folder = getenv("ONCE");
    char kept[MAX_PATH];
    struct command command;
    bool silent;
    int status;

    if (count < 2 || !folder) {
        fputs("usage: ONCE=FOLDER modc_once COMPILER ARGUMENT...\n", stderr);
        return NO_COMPILER;
    }
    command = read_command(words + 1);
    if (!command.is_compilation ||
        snprintf(kept, sizeof kept, "%s/%s.%016llx", folder, name_of(command.source),
                 (unsigned long long)command.key) >= MAX_PATH) {
        execvp(words[1], words + 1);
        perror(words[1]);
        return NO_COMPILER;
    }
    if (access(kept, R_OK) == 0 && write_depends(&command) && copy_file(kept, command.object))
        return 0;
    status = compile(&command, &silent);
    if (status == 0 && silent) { /* a warning is said each time */
        mkdir(folder, 0777);
        copy_file(command.object, kept);
    }
    return status;
}
