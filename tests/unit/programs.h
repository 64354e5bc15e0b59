/* programs.h - for tests that compile what is emitted, and run it. Behind cmocka.h. */
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SANITIZE "-O0 -fsanitize=address,undefined -fno-sanitize-recover=all"
#define WARNINGS "-Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wvla -Wconversion -Werror"

static inline const char *own_compiler(void)
{
    return getenv("CC") ? getenv("CC") : "cc";
}

static inline bool has_program(const char *name)
{
    char command[200];

    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", name);
    return system(command) == 0;
}

/* Whether this machine has the instructions that a compiler's flags choose. */
static inline bool runs_here(const char *flags)
{
#if defined __x86_64__
    if (strstr(flags, "v4") || strstr(flags, "avx512f"))
        return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
               __builtin_cpu_supports("avx512vl");
    return !strstr(flags, "v3") || (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"));
#else
    return strstr(flags, "x86-64") == NULL && strstr(flags, "avx") == NULL;
#endif
}

/* folder: "/tmp/modc_NAME_XXXXXX" */
static inline void make_folder(char *folder)
{
    assert_non_null(mkdtemp(folder));
}

/* MODC_TEST_KEEP: says where it is instead. */
static inline void remove_folder(const char *folder)
{
    char command[200];

    if (getenv("MODC_TEST_KEEP")) {
        print_message("%s\n", folder);
        return;
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
}
