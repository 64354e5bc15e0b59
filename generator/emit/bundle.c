/* bundle.c - the runtime as files, and what a folder needs to be compiled alone; see bundle.h. */
#include "emit/bundle.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/embedded.h"
#include "base/options.h"
#include "emit/dispatch.h"
#include "emit/emit_room.h"
#include "plan/target.h"
#include "plan/weights.h"

/* ---- the runtime ------------------------------------------------------------------------------------------ */

bool bundle_is_hosted(const char *name)
{
    static const char *const names[] = {"modc_generation_host.c", "modc_host.c",  "modc_isa.c",
                                        "modc_optim_host.c",      "modc_queue.c", "modc_threads.c"};

    for (int i = 0; i < COUNT(names); i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return false;
}

const char bundle_emulation[] = "cuda_host";

/* What a file of the runtime is part of, by how its path begins: the first row that fits. */
static const struct runtime_row {
    const char *front, *folder; /* the second is left out of the name */
    unsigned part;              /* 0: everybody needs it */
} runtime_rows[] = {
    {"runtime/driver/", "runtime/driver/", BUNDLE_DRIVER},
    {"runtime/cuda/", "runtime/cuda/", BUNDLE_CUDA},
    {"runtime/cuda_host/", "runtime/", BUNDLE_EMULATION},
    {"runtime/modc_cuda", "runtime/", BUNDLE_CUDA},
    {"runtime/", "runtime/", 0},
};

static bool is_on_cuda(const struct plan *variant)
{
    return backend_device(variant->backend) == DEVICE_CUDA;
}

unsigned bundle_parts(const struct plan *plan)
{
    unsigned parts = 0;

    for (; plan; plan = plan->next)
        parts |= is_on_cuda(plan) ? BUNDLE_CUDA : 0u;
    return parts;
}

/* The name that a file of the runtime has beside a model; NULL: it is none of those that are asked for. */
static const char *runtime_name(const struct embedded_file *file, bool hosted, unsigned parts)
{
    for (int i = 0; i < COUNT(runtime_rows); i++) {
        const struct runtime_row *row = &runtime_rows[i];
        const char *name = file->name + strlen(row->folder);

        if (strncmp(file->name, row->front, strlen(row->front)) == 0)
            return (row->part & ~parts) == 0 && (hosted || !bundle_is_hosted(name)) ? name : NULL;
    }
    return NULL;
}

static struct output_file *add_runtime(struct cx *cx, const struct output_file *files, int *count,
                                       bool hosted, unsigned parts)
{
    enum { OTHERS = 4 }; /* of bundle_folder */
    struct output_file *all = ARENA_ARRAY(&cx->arena, *count + embedded_file_count + OTHERS,
                                          struct output_file);
    int given = *count;

    if (given > 0)
        memcpy(all, files, (size_t)given * sizeof *all);
    for (int i = 0; i < embedded_file_count; i++) {
        const char *name = runtime_name(&embedded_files[i], hosted, parts);
        bool there = !name;

        for (int j = 0; j < given && !there; j++)
            there = strcmp(all[j].path, name) == 0;
        if (!there)
            all[(*count)++] = (struct output_file){name, embedded_files[i].bytes, embedded_files[i].length};
    }
    return all;
}

struct output_file *bundle_runtime(struct cx *cx, const struct output_file *files, int *count, unsigned parts)
{
    return add_runtime(cx, files, count, true, parts);
}

/* ---- CMake ------------------------------------------------------------------------------------------------ */

static const char folder_cmake[] = "${CMAKE_CURRENT_LIST_DIR}";
static const char cmake_lists[] = "CMakeLists.txt";
static const char cmake_lists_head[] = "# CMakeLists.txt - written by modc";

static void print_runtime(struct cx *cx, struct text *text)
{
    text_add(text, "if(NOT TARGET modc::runtime)\n    add_library(modc_runtime STATIC");
    for (int i = 0; i < embedded_file_count; i++) {
        const char *name = runtime_name(&embedded_files[i], target_of(cx)->hosted, 0);

        if (name && text_ends_with(name, ".c"))
            text_printf(text, "\n        %s/%s", folder_cmake, name);
    }
    text_printf(
        text,
        ")\n%s    add_library(modc::runtime ALIAS modc_runtime)\n"
        "    target_include_directories(modc_runtime PUBLIC %s)\n"
        "    target_link_libraries(modc_runtime PUBLIC $<$<NOT:$<PLATFORM_ID:Windows>>:m>%s)\nendif()\n",
        target_of(cx)->hosted ? "    find_package(Threads REQUIRED)\n" : "", folder_cmake,
        target_of(cx)->hosted ? " Threads::Threads" : "");
}

/* A source's own words for the compiler, as a list of CMake. */
static void print_options(struct cx *cx, struct text *text, const char *path, const char *words)
{
    char *list = arena_copy(&cx->arena, words, strlen(words));
    const char *quote = strchr(list, ' ') ? "\"" : "";

    for (char *at = list; (at = strchr(at, ' '));)
        *at = ';';
    text_printf(text, "    set_source_files_properties(%s/%s PROPERTIES COMPILE_OPTIONS %s%s%s)\n",
                folder_cmake, path, quote, list, quote);
}

/* The flags of the sources of each instruction set, where they are for the processor that is compiled for. */
static void print_dispatch(struct cx *cx, struct text *text, const struct plan *plan)
{
    for (const struct isa_machine *machine = isa_machines; machine < isa_machines + isa_machine_count;
         machine++) {
        struct text options = text_new(&cx->arena);

        for (const struct plan *variant = plan; variant; variant = variant->next) {
            const struct isa_row *const *rows;
            const int count = dispatch_rows(cx, variant, &rows);

            if (count > 0 && machine->flags)
                print_options(cx, &options, arena_format(&cx->arena, "%s.c", variant->model), machine->flags);
            for (int i = 0; i < count; i++)
                if (rows[i]->machine == machine)
                    print_options(cx, &options, dispatch_path(cx, variant->model, rows[i]), rows[i]->flags);
        }
        if (options.length > 0)
            text_printf(text, "if(CMAKE_SYSTEM_PROCESSOR MATCHES \"%s\" AND NOT MSVC)\n%sendif()\n",
                        machine->system, options.data);
    }
}

/* As CMake calls it: "90". */
static const char *gpu_number(const struct gpu *gpu)
{
    return gpu->name + strlen("sm_");
}

/* The functions that know how kernels are compiled, and the language that they want. */
static void print_cuda(struct text *text, bool bundle)
{
    if (bundle)
        text_printf(text, "include(%s/modc_cuda.cmake)\n", folder_cmake);
    else
        text_add(
            text,
            "if(NOT COMMAND modc_target_cuda)\n    include(${MODC_RUNTIME}/cuda/modc_cuda.cmake)\nendif()\n");
    text_add(text, "modc_enable_cuda()\n");
}

const char *bundle_cmake(struct cx *cx, const struct plan *plan)
{
    struct text text = text_new(&cx->arena);
    bool bundle = cx->options->bundle != NULL;
    bool cuda = (bundle_parts(plan) & BUNDLE_CUDA) != 0;
    const struct gpu *gpu = target_of(cx)->gpu;
    const char *model = plan->model;

    if (bundle)
        text_printf(
            &text,
            "# %s.cmake - written by modc: the library %s and its runtime. include() it, or add_subdirectory() "
            "its folder.\n",
            model, model);
    else
        text_printf(
            &text,
            "# %s.cmake - written by modc: the library %s. include() it behind find_package(modc), or with "
            "MODC_RUNTIME set to\n# the folder of modc.h: whoever links the library then compiles the runtime.\n",
            model, model);
    if (bundle)
        print_runtime(cx, &text);
    if (cuda)
        print_cuda(&text, bundle);
    if (plan->weights && !weights_are_array(cx))
        text_add(&text, "enable_language(ASM)\n");
    if (cx->options->dispatch)
        print_dispatch(cx, &text, plan);
    text_printf(&text, "add_library(%s STATIC", model);
    for (const struct plan *variant = plan; variant; variant = variant->next) {
        const struct isa_row *const *rows;
        const int count = dispatch_rows(cx, variant, &rows);

        text_printf(&text, " %s/%s.c", folder_cmake, variant->model);
        if (variant->program->tree->tokenizer)
            text_printf(&text, " %s/%s_tokenizer.c", folder_cmake, variant->model);
        if (variant->program->tree->chat)
            text_printf(&text, " %s/%s_template.c", folder_cmake, variant->model);
        if (is_on_cuda(variant))
            text_printf(&text, " %s/%s.cu", folder_cmake, variant->model);
        for (int i = 0; i < count; i++)
            text_printf(&text, "\n            %s/%s", folder_cmake,
                        dispatch_path(cx, variant->model, rows[i]));
        if (variant->weights)
            text_printf(&text, " %s/%s", folder_cmake, weights_source(cx, variant->model));
    }
    text_printf(&text, ")\ntarget_include_directories(%s PUBLIC %s)\n", model, folder_cmake);
    if (bundle)
        text_printf(&text, "target_link_libraries(%s PUBLIC modc::runtime)\n", model);
    else
        text_printf(&text,
                    "if(TARGET modc::runtime)\n    target_link_libraries(%s PUBLIC modc::runtime)\nelse()\n"
                    "    target_include_directories(%s PUBLIC ${MODC_RUNTIME})\nendif()\n",
                    model, model);
    if (cuda)
        text_printf(&text, "modc_target_cuda(%s%s)\n", model,
                    gpu ? arena_format(&cx->arena, " %s", gpu_number(gpu)) : "");
    if (cuda && plan->program->settings.flushes) /* its kernels ask for it */
        text_printf(&text, "target_compile_options(%s PRIVATE $<$<COMPILE_LANGUAGE:CUDA>:-ftz=true>)\n",
                    model);
    return text.data;
}

/* ---- Arduino ---------------------------------------------------------------------------------------------- */

enum { LIBRARY_NAME = 63 }; /* characters that names of libraries and sketches have at most */

static const char arduino_library[] = "library.properties";
static const char arduino_library_head[] = "# library.properties - written by modc";

bool bundle_is_arduino(const struct options *options)
{
    return options->bundle && strcmp(options->bundle, "arduino") == 0;
}

/* The end of a long name, where those of two dtypes differ. */
static const char *sketch_name(const char *model)
{
    const size_t length = strlen(model);

    return length > LIBRARY_NAME ? model + length - LIBRARY_NAME : model;
}

const char *bundle_sketch(struct cx *cx, const char *model)
{
    return arena_format(&cx->arena, "examples/%s/%s.ino", sketch_name(model), sketch_name(model));
}

/* Of libraries only Arduino's own are named like it; longer names are cut off. */
static const char *library_name(struct cx *cx, const char *model)
{
    static const char others[] = "arduino";
    size_t same = 0;

    while (others[same] && tolower((unsigned char)model[same]) == others[same])
        same++;
    return arena_format(&cx->arena, "%s%.*s", others[same] ? "" : "modc_",
                        LIBRARY_NAME - (int)strlen("modc_"), model);
}

/* Boards with an int of 16 bits are not among the architectures. */
static const char *library_properties(struct cx *cx, const char *model)
{
    return arena_format(
        &cx->arena,
        "%s (generate --bundle=arduino)\nname=%s\nversion=1.0.0\nauthor=written by modc\nmaintainer=whoever has the spec\n"
        "sentence=The model %s in C.\n"
        "paragraph=Written by modc generate --bundle=arduino, with the runtime that it needs.\n"
        "category=Data Processing\nurl=https://www.arduino.cc/reference/en/libraries/\n"
        "architectures=sam,samd,mbed,mbed_edge,mbed_giga,mbed_nano,mbed_nicla,mbed_opta,mbed_portenta,mbed_rp2040,"
        "renesas,renesas_portenta,renesas_uno,nrf52,rp2040,stm32,STM32F1,STM32F4,teensy,esp8266,esp32\nincludes=%s.h\n",
        arduino_library_head, library_name(cx, model), model, model);
}

static const char *library_page(struct cx *cx, const char *model)
{
    return arena_format(
        &cx->arena,
        "%s, written by modc generate --bundle=arduino: a model in C as a library for Arduino.\n\n"
        "Put this folder into the folder libraries of your sketches; #include <%s.h>, whose first comment shows\n"
        "the calls. examples/%s/%s.ino is a sketch that makes one. The board has to have an int of 32 bits, which\n"
        "those with AVR have not, and RAM for the blocks of the sketch: let modc generate count it with --target.\n\n"
        "src/%s* and the example are yours, under any terms. The files modc* are those of modc, under the Apache\n"
        "License 2.0: see modc_LICENSE.txt and modc_NOTICE.txt.\n",
        model, model, sketch_name(model), sketch_name(model), model);
}

/* ---- a folder that compiles alone ------------------------------------------------------------------------- */

/* Those of instruction sets of a machine, of which each source has flags of its own. */
static void print_flagged(struct text *text, const struct output_file *files, int count,
                          const struct isa_machine *machine)
{
    for (int i = 0; i < count; i++)
        if (files[i].flags && strcmp(files[i].machine, machine->name) == 0)
            text_printf(text, "    cc -O3 %s -c %s\n", files[i].flags, files[i].path);
}

static void print_commands(struct cx *cx, struct text *text, bool assembly, const struct output_file *files,
                           int count)
{
    const struct target *target = target_of(cx);
    bool tokenizer = false, template = false;

    for (int i = 0; i < count; i++) {
        if (strncmp(files[i].path, "modc_", 5) != 0) {
            tokenizer |= text_ends_with(files[i].path, "_tokenizer.c");
            template |= text_ends_with(files[i].path, "_template.c");
        }
    }

    if (!cx->options->dispatch) {
        text_printf(text, "    %s %s%s%s -c %s\n\n", target->compiler, target->hosted ? "-O3" : "-Os",
                    target->flags[0] ? " " : "", target->flags, assembly ? "*.c *.S" : "*.c");
    } else {
        print_flagged(text, files, count, isa_machines);
        text_printf(text, "    cc -O3 -c modc_*.c%s%s%s\n\n", tokenizer ? " *_tokenizer.c" : "",
                    template ? " *_template.c" : "",
                    assembly               ? " *.S"
                    : cx->options->weights ? " *_weights.c"
                                           : "");
    }
    text_add(
        text,
        "in this folder compiles all of it; each file compiles alone, with no include path but this folder.\n");
}

/* The objects of policy.c and policy.cu need names of their own. */
static void print_cuda_commands(struct cx *cx, struct text *text, bool flushes,
                                const struct output_file *files, int count)
{
    const struct gpu *gpu = target_of(cx)->gpu;
    struct text sources = text_new(&cx->arena);

    text_add(&sources, cx->options->dispatch ? "modc_*.c" : "*.c");
    for (int i = 0; i < count && cx->options->dispatch; i++)
        if (!files[i].flags && text_ends_with(files[i].path, ".c") && !strchr(files[i].path, '/') &&
            strncmp(files[i].path, "modc_", 5) != 0)
            text_printf(&sources, " %s", files[i].path);
    print_flagged(text, files, count, isa_machines);
    text_printf(
        text,
        "    for file in %s *.cu; do nvcc -O3 -arch=%s%s -c $file -o $file.o; done\n\n"
        "in this folder compiles all of it for %s;\n"
        "nvcc links programs, too. For this processor, with a stand-in for a GPU (-g -fsanitize=thread,alignment\n"
        "for *.cu lets it look at what kernels do with memory):\n\n",
        sources.data, gpu ? gpu->name : "native", flushes ? " -ftz=true" : "",
        gpu ? arena_format(&cx->arena, "%s (%s)", gpu->name, gpu->what)
            : "the GPU of this machine (-arch=sm_90 and the like for others)");
    print_flagged(text, files, count, isa_machines);
    text_printf(
        text,
        "    for file in %s %s/*.c; do cc -O3 -I%s -c $file -o $(basename $file).o; done\n"
        "    for file in *.cu; do c++ -x c++ -std=c++17 -fno-exceptions -O2 -I%s -c $file -o $file.o; done\n\n"
        "whose programs are linked with -ldl -lm -pthread.\n",
        sources.data, bundle_emulation, bundle_emulation, bundle_emulation);
}

/* How the folder compiles where the flags are not those of the commands. */
static void print_other_machines(struct text *text, const char *model, const struct output_file *files,
                                 int count)
{
    text_add(text, "Each context takes the best instruction set that its machine has.\n");
    for (const struct isa_machine *machine = isa_machines + 1; machine < isa_machines + isa_machine_count;
         machine++) {
        struct text commands = text_new(text->arena);

        print_flagged(&commands, files, count, machine);
        if (commands.length > 0)
            text_printf(text, "On %s %s.c takes no such flag, and the further files are\n\n%s", machine->name,
                        model, commands.data);
    }
}

static const char *page(struct cx *cx, const struct plan *plan, bool assembly, bool cuda,
                        const struct output_file *files, int count)
{
    const char *model = plan->model;
    const struct target *target = target_of(cx);
    struct text text = text_new(&cx->arena);

    text_printf(&text,
                "%s, written by modc generate --bundle: a model in C, with the runtime that it needs.\n\n",
                model);
    if (cuda)
        print_cuda_commands(cx, &text, plan->program->settings.flushes, files, count);
    else
        print_commands(cx, &text, assembly, files, count);
    text_printf(
        &text,
        "A program includes %s.h, whose first comment shows the calls, and links all the objects, with\n"
        "-lm %s.\n",
        model, target->hosted ? "behind them" : "where a function of it is missing");
    if (cx->options->dispatch)
        print_other_machines(&text, model, files, count);
    else if (target->hosted)
        text_add(
            &text,
            "Optimise for the machine that runs it, -march=native or the like: the code has vectors for several.\n");
    text_printf(&text, "\nWith CMake, add_subdirectory() of this folder makes the library %s%s.\n\n", model,
                cuda ? ", for this processor\nwith -DMODC_CUDA_EMULATE=ON" : "");
    if (assembly)
        text_printf(
            &text,
            "%s_weights.S takes in %s_weights.bin, which the assembler finds where it runs, or through -I.\n\n",
            model, model);
    text_printf(
        &text,
        "%s.h, %s.c and what else is named so are yours, under any terms. The files modc* are those of modc,\n"
        "under the Apache License 2.0: see modc_LICENSE.txt and modc_NOTICE.txt.\n",
        model, model);
    return text.data;
}

/* The models of the folder, however many were bundled into it. */
static const char *lists(struct cx *cx)
{
    return arena_format(
        &cx->arena,
        "%s (generate --bundle): the models of this folder, for add_subdirectory().\n"
        "cmake_minimum_required(VERSION 3.13)\nproject(modc_models LANGUAGES C)\n"
        "file(GLOB models %s/*.cmake)\nforeach(model ${models})\n    include(${model})\nendforeach()\n",
        cmake_lists_head, folder_cmake);
}

static struct output_file text_file(const char *name, const char *text)
{
    return (struct output_file){name, text, strlen(text)};
}

struct output_file *bundle_folder(struct cx *cx, const struct output_file *files, int *count,
                                  const struct plan *plan)
{
    bool arduino = bundle_is_arduino(cx->options);
    const unsigned parts = bundle_parts(plan) ? BUNDLE_CUDA | BUNDLE_EMULATION : 0u;
    struct output_file *all = add_runtime(cx, files, count, target_of(cx)->hosted, parts);
    static const char *const own[] = {"LICENSE", "NOTICE"};
    const char *model = plan->model, *readme;
    bool assembly = false;

    for (int i = 0; i < *count; i++)
        assembly |= text_ends_with(all[i].path, ".S");
    for (int i = 0; i < *count && arduino; i++)
        if (!text_ends_with(all[i].path, ".ino"))
            all[i].path = arena_format(&cx->arena, "src/%s", all[i].path);
    readme = arduino ? library_page(cx, model) : page(cx, plan, assembly, parts != 0, all, *count);
    for (int i = 0; i < embedded_file_count; i++)
        for (int k = 0; k < 2; k++)
            if (strcmp(embedded_files[i].name, own[k]) == 0)
                all[(*count)++] = (struct output_file){arena_format(&cx->arena, "modc_%s.txt", own[k]),
                                                       embedded_files[i].bytes, embedded_files[i].length};
    if (arduino)
        all[(*count)++] = text_file(arduino_library, library_properties(cx, model));
    else
        all[(*count)++] = text_file(cmake_lists, lists(cx));
    all[(*count)++] = text_file(arduino ? "README.txt" : arena_format(&cx->arena, "%s_README.txt", model),
                                readme);
    return all;
}

const char *bundle_would_replace(struct cx *cx, const char *folder)
{
    bool arduino = bundle_is_arduino(cx->options);
    const char *name = arduino ? arduino_library : cmake_lists;
    const char *head = arduino ? arduino_library_head : cmake_lists_head;
    size_t length = strlen(head);
    char *found = ARENA_ARRAY(&cx->arena, length + 1, char);
    FILE *old = fopen(arena_format(&cx->arena, "%s/%s", folder, name), "rb");
    bool other;

    if (!old)
        return NULL;
    other = fread(found, 1, length, old) != length || memcmp(found, head, length) != 0;
    fclose(old);
    return other ? name : NULL;
}
