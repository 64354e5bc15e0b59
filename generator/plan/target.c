/* target.c - the table of targets, and the words of --target. */
#include "plan/target.h"

#include <string.h>

#include "base/options.h"

enum { KB = 1024, MB = 1024 * KB };

static const struct loc nowhere = {0};

/* Compilers and flags of processors. */
enum core {
    CORTEX_M0,
    CORTEX_M0PLUS,
    CORTEX_M3,
    CORTEX_M4,
    CORTEX_M4F,
    CORTEX_M7,
    CORTEX_M7D,
    CORTEX_M33,
    CORTEX_M55,
    RISCV,
    XTENSA,
    XTENSA_S3,
    CORE_COUNT
};

static const char arm[] = "arm-none-eabi-gcc";

static const struct {
    const char *name, *compiler, *flags;
    bool
        dsp; /* its integers are multiplied two halves at a time, and upper halves of products added and rounded */
} cores[CORE_COUNT] = {
    [CORTEX_M0] = {"Cortex-M0", arm, "-mcpu=cortex-m0 -mthumb"},
    [CORTEX_M0PLUS] = {"Cortex-M0+", arm, "-mcpu=cortex-m0plus -mthumb"},
    [CORTEX_M3] = {"Cortex-M3", arm, "-mcpu=cortex-m3 -mthumb"},
    [CORTEX_M4] = {"Cortex-M4", arm, "-mcpu=cortex-m4 -mthumb", .dsp = true},
    [CORTEX_M4F] = {"Cortex-M4F", arm, "-mcpu=cortex-m4 -mthumb -mfpu=fpv4-sp-d16 -mfloat-abi=hard",
                    .dsp = true},
    [CORTEX_M7] = {"Cortex-M7", arm, "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard",
                   .dsp = true},
    [CORTEX_M7D] = {"Cortex-M7D", arm, "-mcpu=cortex-m7 -mthumb -mfpu=fpv5-d16 -mfloat-abi=hard",
                    .dsp = true},
    [CORTEX_M33] = {"Cortex-M33", arm, "-mcpu=cortex-m33 -mthumb -mfpu=fpv5-sp-d16 -mfloat-abi=hard",
                    .dsp = true},
    [CORTEX_M55] = {"Cortex-M55", arm, "-mcpu=cortex-m55 -mthumb -mfloat-abi=hard", .dsp = true},
    [RISCV] = {"RV32IMC", "riscv32-unknown-elf-gcc", "-march=rv32imc -mabi=ilp32"},
    [XTENSA] = {"Xtensa LX6", "xtensa-esp32-elf-gcc", "-mlongcalls"},
    [XTENSA_S3] = {"Xtensa LX7", "xtensa-esp32s3-elf-gcc", "-mlongcalls"},
};

/* What data sheets say. Where RAM is in pieces that do not touch, the largest counts; flash beside the chip is that of
 * the usual board or module. */
static const struct chip {
    const char *name, *what;
    enum core core;
    int64_t ram, flash; /* 0: no limit */
} chips[] = {
    {"cortex-m0", "any chip with this core", CORTEX_M0, 0, 0},
    {"cortex-m0plus", "any chip with this core", CORTEX_M0PLUS, 0, 0},
    {"cortex-m3", "any chip with this core", CORTEX_M3, 0, 0},
    {"cortex-m4", "any chip with this core; no floating-point unit", CORTEX_M4, 0, 0},
    {"cortex-m4f", "any chip with this core", CORTEX_M4F, 0, 0},
    {"cortex-m7", "any chip with this core", CORTEX_M7, 0, 0},
    {"cortex-m33", "any chip with this core", CORTEX_M33, 0, 0},
    {"cortex-m55", "any chip with this core", CORTEX_M55, 0, 0},
    {"rv32imc", "any chip with this core", RISCV, 0, 0},
    {"stm32f103c8", "STM32F103C8, Blue Pill", CORTEX_M3, 20 * KB, 64 * KB},
    {"stm32f401", "STM32F401xE", CORTEX_M4F, 96 * KB, 512 * KB},
    {"stm32f407", "STM32F407xG; 64 KB CCM not counted", CORTEX_M4F, 128 * KB, 1 * MB},
    {"stm32f411", "STM32F411xE", CORTEX_M4F, 128 * KB, 512 * KB},
    {"stm32f446", "STM32F446xE", CORTEX_M4F, 128 * KB, 512 * KB},
    {"stm32f746", "STM32F746xG", CORTEX_M7, 320 * KB, 1 * MB},
    {"stm32h743", "STM32H743xI; AXI SRAM", CORTEX_M7D, 512 * KB, 2 * MB},
    {"stm32l476", "STM32L476xG; SRAM1", CORTEX_M4F, 96 * KB, 1 * MB},
    {"stm32u575", "STM32U575xI; SRAM1 to 3", CORTEX_M33, 768 * KB, 2 * MB},
    {"nrf51822", "nRF51822 xxAA", CORTEX_M0, 16 * KB, 256 * KB},
    {"nrf52832", "nRF52832 xxAA", CORTEX_M4F, 64 * KB, 512 * KB},
    {"nrf52840", "nRF52840", CORTEX_M4F, 256 * KB, 1 * MB},
    {"nrf5340", "nRF5340, application core", CORTEX_M33, 512 * KB, 1 * MB},
    {"nrf9160", "nRF9160", CORTEX_M33, 256 * KB, 1 * MB},
    {"rp2040", "RP2040; flash of the Raspberry Pi Pico", CORTEX_M0PLUS, 264 * KB, 2 * MB},
    {"rp2350", "RP2350; flash of the Raspberry Pi Pico 2", CORTEX_M33, 520 * KB, 4 * MB},
    {"samd21", "SAMD21x18", CORTEX_M0PLUS, 32 * KB, 256 * KB},
    {"atsamd51", "ATSAMD51x19", CORTEX_M4F, 192 * KB, 512 * KB},
    {"mk64f", "MK64FN1M0", CORTEX_M4F, 256 * KB, 1 * MB},
    {"ra4m1", "RA4M1, Arduino Uno R4", CORTEX_M4F, 32 * KB, 256 * KB},
    {"max78000", "MAX78000, without its accelerator", CORTEX_M4F, 128 * KB, 512 * KB},
    {"esp32", "ESP32, data RAM; flash of the usual module", XTENSA, 320 * KB, 4 * MB},
    {"esp32s3", "ESP32-S3; flash of the smallest module", XTENSA_S3, 512 * KB, 4 * MB},
    {"esp32c3", "ESP32-C3; flash of the usual module", RISCV, 400 * KB, 4 * MB},
};
enum { CHIPS = sizeof chips / sizeof *chips };

/* What the programming guide has of each compute capability from 8.0 on, which kernels need. */
static const struct gpu gpus[] = {
    {"sm_80", "Ampere: A100, A30", 2048, 32, 164 * KB, 163 * KB},
    {"sm_86", "Ampere: A40, A10, RTX 30", 1536, 16, 100 * KB, 99 * KB},
    {"sm_87", "Ampere: Jetson Orin", 1536, 16, 164 * KB, 163 * KB},
    {"sm_89", "Ada: L40, L4, RTX 40", 1536, 24, 100 * KB, 99 * KB},
    {"sm_90", "Hopper: H100, H200, GH200", 2048, 32, 228 * KB, 227 * KB},
    {"sm_100", "Blackwell: B200, GB200", 2048, 32, 228 * KB, 227 * KB},
    {"sm_103", "Blackwell: B300, GB300", 2048, 32, 228 * KB, 227 * KB},
    {"sm_120", "Blackwell: RTX PRO 6000, RTX 50", 1536, 24, 100 * KB, 99 * KB},
};
enum { GPUS = sizeof gpus / sizeof *gpus };

static const struct target hosted = {
    .name = "hosted",
    .what = "an operating system: malloc, files, threads",
    .compiler = "cc",
    .flags = "",
    .align = HOSTED_ALIGN,
    .pointer = (int)sizeof(void *),
    .hosted = true,
};

const struct target *target_of(const struct cx *cx)
{
    return cx->options && cx->options->target ? cx->options->target : &hosted;
}

bool target_sets_align(const struct target *target)
{
    return !target->hosted || target->align != HOSTED_ALIGN;
}

/* ---- the words of --target -------------------------------------------------------------------------------- */

const char *const *target_names(struct cx *cx, int *count)
{
    const char **names = NULL;

    *count = 0;
    ARENA_PUSH(&cx->arena, names, *count, hosted.name);
    for (int i = 0; i < CHIPS; i++)
        ARENA_PUSH(&cx->arena, names, *count, chips[i].name);
    for (int i = 0; i < GPUS; i++)
        ARENA_PUSH(&cx->arena, names, *count, gpus[i].name);
    return names;
}

/* "sm_80, sm_86, ..." */
static const char *gpu_names(struct cx *cx)
{
    struct text text = text_new(&cx->arena);

    for (int i = 0; i < GPUS; i++)
        text_printf(&text, "%s%s", i ? ", " : "", gpus[i].name);
    return text.data;
}

static bool unknown_target(struct cx *cx, const char *name)
{
    int count;
    const char *const *names = target_names(cx, &count);

    diag_error(cx, nowhere, "there is no target '%s'", name);
    if (strncmp(name, "sm_", 3) == 0) {
        diag_hint(cx, "GPUs are %s; kernels need a compute capability of 8.0", gpu_names(cx));
        return false;
    }
    diag_hint_nearest(cx, name, names, count);
    diag_hint(cx, "'modc help targets' lists them; an own one is written as ram=64K,flash=256K,hosted=no");
    return false;
}

static bool take_name(struct cx *cx, struct target *target, const char *name)
{
    if (strcmp(name, hosted.name) == 0)
        return true;
    for (int i = 0; i < CHIPS; i++) {
        if (strcmp(chips[i].name, name) != 0)
            continue;
        *target = (struct target){
            .what = chips[i].what,
            .compiler = cores[chips[i].core].compiler,
            .flags = cores[chips[i].core].flags,
            .ram = chips[i].ram,
            .flash = chips[i].flash,
            .align = FIRMWARE_ALIGN,
            .pointer = 4,
            .dsp = cores[chips[i].core].dsp,
        };
        return true;
    }
    for (int i = 0; i < GPUS; i++)
        if (strcmp(gpus[i].name, name) == 0) {
            target->what = gpus[i].what;
            target->gpu = &gpus[i];
            return true;
        }
    return unknown_target(cx, name);
}

/* 65536, 64K, 2M, 1G; false if it is none, is 0, or does not fit. */
static bool read_bytes(const char *text, int64_t *bytes)
{
    static const char units[] = "KMG";
    const char *unit;

    for (*bytes = 0; *text >= '0' && *text <= '9'; text++)
        if (__builtin_mul_overflow(*bytes, 10, bytes) || __builtin_add_overflow(*bytes, *text - '0', bytes))
            return false;
    if (*text) {
        unit = strchr(units, *text);
        if (!unit || text[1] || __builtin_mul_overflow(*bytes, (int64_t)1 << 10 * (unit - units + 1), bytes))
            return false;
    }
    return *bytes > 0;
}

static bool bad_setting(struct cx *cx, const char *key, const char *value, const char *expected)
{
    diag_error(cx, nowhere, "--target: %s cannot be '%s'", key, value);
    diag_hint(cx, "%s", expected);
    return false;
}

static bool take_setting(struct cx *cx, struct target *target, const char *key, const char *value)
{
    static const char *const keys[] = {"ram", "flash", "hosted", "align"};

    if (target->gpu) {
        if (strcmp(key, "memory") == 0)
            return read_bytes(value, &target->memory) ||
                   bad_setting(cx, key, value, "it takes bytes, or as many as 64K, 2M or 1G");
        diag_error(cx, nowhere, "--target: %s is a GPU, which has no '%s'", target->gpu->name, key);
        diag_hint(cx, "behind its name stands how much memory it has: %s,memory=24G", target->gpu->name);
        return false;
    }
    if (strcmp(key, "ram") == 0 || strcmp(key, "flash") == 0)
        return read_bytes(value, key[0] == 'r' ? &target->ram : &target->flash) ||
               bad_setting(cx, key, value, "it takes bytes, or as many as 64K, 2M or 1G");
    if (strcmp(key, "hosted") == 0) {
        target->hosted = strcmp(value, "yes") == 0;
        return target->hosted || strcmp(value, "no") == 0 ||
               bad_setting(cx, key, value, "it takes yes or no");
    }
    if (strcmp(key, "align") == 0) {
        int64_t align;
        bool read = read_bytes(value, &align) && align <= HOSTED_ALIGN;

        target->align = read ? (int)align : 0;
        return (read && align >= FIRMWARE_ALIGN && (align & (align - 1)) == 0) ||
               bad_setting(cx, key, value, "it takes 8, 16, 32 or 64");
    }
    diag_error(cx, nowhere, "--target has no '%s'", key);
    diag_hint_nearest(cx, key, keys, 4);
    diag_hint(cx, "it takes the name of a target, and ram, flash, hosted and align");
    return false;
}

/* One word; only the first may be a name. */
static bool take_word(struct cx *cx, struct target *target, char *word, bool first)
{
    char *equals = strchr(word, '=');

    if (equals) {
        *equals = 0;
        return take_setting(cx, target, word, equals + 1);
    }
    if (first)
        return take_name(cx, target, word);
    diag_error(cx, nowhere, "--target: '%s' stands behind other words", word);
    diag_hint(cx, "a name stands first, and there is one at most");
    return false;
}

const struct target *target_parse(struct cx *cx, const char *text)
{
    struct target *target = ARENA_NEW(&cx->arena, struct target);
    const char *at = text;

    *target = hosted;
    target->align = 0; /* follows from `hosted` where nothing says it */
    do {
        size_t length = strcspn(at, ",");

        if (!take_word(cx, target, arena_copy(&cx->arena, at, length), at == text))
            return NULL;
        at += length;
    } while (*at++);
    if (target->align == 0)
        target->align = target->hosted ? HOSTED_ALIGN : FIRMWARE_ALIGN;
    if (!target->hosted) {
        target->pointer = 4;
        if (target->what == hosted.what)
            target->what = "an own one";
    }
    target->name = text;
    return target;
}

/* ---- the list --------------------------------------------------------------------------------------------- */

static void print_row(struct text *text, const char *name, int64_t ram, int64_t flash, const char *core,
                      const char *what)
{
    text_printf(text, "  %-14s %7s %7s  %-12s  %s\n", name, ram ? text_bytes(text->arena, ram) : "-",
                flash ? text_bytes(text->arena, flash) : "-", core, what);
}

void target_print_all(struct text *text)
{
    text_add(text,
             "--target NAME refuses a model that does not fit, and writes code for what the target has.\n\n");
    text_printf(text, "  %-14s %7s %7s  %s\n", "name", "RAM", "flash", "core");
    print_row(text, hosted.name, 0, 0, "any", hosted.what);
    for (int i = 0; i < CHIPS; i++)
        print_row(text, chips[i].name, chips[i].ram, chips[i].flash, cores[chips[i].core].name,
                  chips[i].what);
    text_add(
        text,
        "\nAn own one is written as ram=64K,flash=256K,hosted=no,align=8, each of which may be left out; behind a\n"
        "name they change it: stm32f411,ram=100K. All but `hosted` have no malloc, no files and no threads:\n"
        "hooks are off unless the spec has `hooks: on`, blocks are aligned by 8, and what needs an operating\n"
        "system is left out.\n\nCompilers:\n\n");
    for (int i = 0; i < CORE_COUNT; i++)
        text_printf(text, "  %-12s  %s %s\n", cores[i].name, cores[i].compiler, cores[i].flags);
    text_add(
        text,
        "\nGPUs, for models on cuda: nvcc compiles kernels for this one, and a summary says what it has for them.\n"
        "sm_90,memory=80G refuses a model that needs more memory.\n\n");
    text_printf(text, "  %-14s %7s %7s %7s  %s\n", "name", "threads", "blocks", "shared",
                "of a multiprocessor");
    for (int i = 0; i < GPUS; i++)
        text_printf(text, "  %-14s %7d %7d %7s  %s\n", gpus[i].name, gpus[i].threads, gpus[i].blocks,
                    text_bytes(text->arena, gpus[i].shared), gpus[i].what);
}
