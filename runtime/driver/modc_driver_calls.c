/* modc_driver_calls.c - the calls, and how long they take. */
#include "modc_driver.h"
#include "modc_time.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static void free_buffers(struct run *run)
{
    while (run->buffers != NULL) {
        struct buffer *next = run->buffers->next;

        if (run->buffers->on_device != NULL)
            run->model->device->release(run->buffers->on_device);
        free(run->buffers);
        run->buffers = next;
    }
}

/* Of one step, in a tensor of all; NULL where there is none. */
static void *part_at(const struct run *run, const struct modc_tensor *tensor, int step)
{
    return tensor->data == NULL
               ? NULL
               : (char *)tensor->data + modc_tensor_bytes(tensor) / (size_t)run->steps * (size_t)step;
}

static enum modc_status backward_step(struct run *run, int step)
{
    for (int i = 0; i < run->entry->output_count; i++)
        run->out_gradients[i] = part_at(run, &run->output_gradients[i].tensor, step);
    for (int i = 0; i < run->entry->input_count; i++)
        run->in_gradients[i] = part_at(run, &run->input_gradients[i].tensor, step);
    if (run->model->device != NULL)
        return run->model->device->backward_host(run->net, run->entry, run->sizes, run->out_gradients,
                                                 run->in_gradients);
    return run->entry->backward(run->net, run->sizes, run->out_gradients, run->in_gradients);
}

static enum modc_status call_step(struct run *run, int step)
{
    modc_driver_take_sizes(run, step);
    for (int i = 0; i < run->entry->input_count; i++)
        run->in[i] = part_at(run, &run->inputs[i].tensor, step);
    for (int i = 0; i < run->entry->output_count; i++)
        run->out[i] = part_at(run, &run->outputs[i].tensor, step);

    enum modc_status status = run->options.steps > 0 && run->model->device != NULL
                                  ? run->model->device->train_host(run->training, run->sizes, run->in,
                                                                   run->out[0])
                              : run->options.steps > 0
                                  ? run->model->train_step(run->training, run->sizes, run->in, run->out[0])
                              : run->model->device != NULL
                                  ? run->model->device->call_host(run->net, run->entry, run->sizes, run->in,
                                                                  run->out)
                                  : run->entry->call(run->net, run->sizes, run->in, run->out);

    if (status == MODC_OK && run->options.backward)
        status = backward_step(run, step);
    free_buffers(run);
    return status;
}

/* "past + tokens <= 128 is not met by past = 100, tokens = 40" */
static int requirement_failed(const struct run *run, int unmet)
{
    char sizes[NAME] = "";
    int at = 0;

    for (int i = 0; i < run->model->size_count && at < NAME - 80; i++)
        at += snprintf(sizes + at, (size_t)(NAME - at), "%s%.40s = %d", i > 0 ? ", " : "",
                       run->model->sizes[i].name, run->sizes[i]);
    return modc_driver_fail(EXIT_FILES, run->model->name, "%s is not met by %s",
                            run->model->requirements[unmet], sizes);
}

int modc_driver_call_failed(const struct run *run, enum modc_status status)
{
    const int unmet = status == MODC_SIZE && run->model->unmet != NULL ? run->model->unmet(run->sizes) : -1;
    const struct modc_context *net = run->net;
    bool known = net->fault_module >= 0 && net->fault_module < run->model->module_count;
    const char *path = known ? run->model->modules[net->fault_module].path : "";
    const char *colon = path[0] != '\0' ? ": " : "", *where = run->model->name,
               *text = modc_status_text(status);

    if (unmet >= 0)
        return requirement_failed(run, unmet);
    if (status == MODC_INDEX)
        return modc_driver_fail(EXIT_FILES, where, "%s%s%s (value %lld at position %lld)", path, colon, text,
                                (long long)net->fault_value, (long long)net->fault_index);
    if (status == MODC_ARGUMENT)
        return modc_driver_fail(EXIT_FILES, where, "%s%s%s (at position %lld)", path, colon, text,
                                (long long)net->fault_index);
    if (status == MODC_GPU) {
        const char *what = run->model->device->failed(net, &text);

        return modc_driver_fail(EXIT_BUG, where, "%s: %s", what, text);
    }
    if (status == MODC_UNSUPPORTED)
        return modc_driver_fail(EXIT_USAGE, where, "%s has no variant for this mode", run->entry->name);
    return modc_driver_fail(status == MODC_SIZE || status == MODC_DIVISION || status == MODC_NONFINITE ||
                                    status == MODC_FULL
                                ? EXIT_FILES
                                : EXIT_BUG,
                            where, "%s%s%s", path, colon, text);
}

int modc_driver_call(struct run *run)
{
    long repeat = run->options.steps > 0                          ? run->options.steps
                  : run->options.repeat > 0 && !run->options.time ? run->options.repeat
                                                                  : 1;

    for (long i = 0; i < repeat; i++) {
        for (int step = 0; step < run->steps; step++) {
            enum modc_status status = call_step(run, step);

            if (status != MODC_OK)
                return modc_driver_call_failed(run, status);
        }
    }
    return EXIT_OK;
}

/* Three digits: 1.23, 12.3, 123. */
static void print_short(double value, const char *unit)
{
    int digits = value >= 99.95 ? 0 : value >= 9.995 ? 1 : 2;

    if (value > 0.0 && value < 0.00995)
        printf("%.2g %s", value, unit);
    else
        printf("%.*f %s", digits, value, unit);
}

static void print_time(double seconds)
{
    if (seconds < 999.5e-9)
        print_short(seconds * 1e9, "ns");
    else if (seconds < 999.5e-6)
        print_short(seconds * 1e6, "us");
    else if (seconds < 999.5e-3)
        print_short(seconds * 1e3, "ms");
    else
        print_short(seconds, "s");
}

/* One line: the shortest and the median call, the processor time of one in the mean, the work at the maxima of the sizes, the workspace of the
 * variant. */
static void print_times(const struct run *run, const struct modc_times *times, double cpu, long calls)
{
    const struct modc_entry *entry = run->entry;
    int mode = run->options.train ? MODC_TRAIN : MODC_EVAL;
    size_t bytes = modc_hooked(run->net) ? entry->fenced_workspace[mode] : entry->workspace[mode];
    bool full = true;

    for (int i = 0; i < run->model->size_count; i++)
        full = full && run->sizes[i] == entry->max_sizes[i];
    printf("min ");
    print_time(times->min);
    printf("  median ");
    print_time(times->median);
    printf("  cpu ");
    print_time(cpu);
    if (full) { /* what the table says holds for the maxima alone */
        printf("  ");
        print_short(entry->macs * 1e-6, "MMAC");
        printf("  ");
        print_short(2e-9 * entry->macs / times->min, "GFLOP/s");
    }
    printf("  ");
    print_short((double)bytes / 1024, "KB");
    printf("  %ld calls", calls);
    if (modc_get_isa(run->net) != NULL)
        printf("  %s", modc_get_isa(run->net)->name);
    printf("\n");
}

struct timed {
    struct run *run;
    long calls;
};

static int call_once(void *user)
{
    struct timed *timed = user;

    timed->calls++;
    return (int)call_step(timed->run, 0);
}

/* The average of the last minute; negative: not known here. */
static double load_of_machine(void)
{
    FILE *file = fopen("/proc/loadavg", "r");
    double load = -1.0;

    if (file != NULL && fscanf(file, "%lf", &load) != 1)
        load = -1.0;
    if (file != NULL)
        fclose(file);
    return load;
}

static void say_what_disturbs(const struct run *run, double wall, double cpu, bool settled)
{
    const int threads = run->pool != NULL ? run->pool->threads : 1;
    const double load = load_of_machine();
    long processors = 1;

#if defined _SC_NPROCESSORS_ONLN
    processors = sysconf(_SC_NPROCESSORS_ONLN);
#endif
    if (modc_is_busy(wall, cpu, threads, load, (int)processors)) {
        fprintf(stderr, "modc: note: the machine is busy: the program had %.0f %% of a processor",
                100.0 * cpu / wall);
        if (load >= 0.0)
            fprintf(stderr, ", the load is %.1f", load);
        fprintf(stderr, "; min is nearest to what a call takes\n");
    } else if (!settled) {
        fprintf(stderr, "modc: note: min has not settled: other calls may be quicker yet\n");
    }
}

enum { ROUNDS = 20, SAMPLES = 1000, SETTLED = 2 }; /* the last: so many rounds did not make min lower */

/* Without --repeat: rounds of half a second, until min is lower by no more than a hundredth for two of them, or 10 seconds. */
int modc_driver_measure(struct run *run)
{
    const long asked = run->options.repeat, most = asked > 0 ? asked : SAMPLES;
    const int rounds = asked > 0 ? 1 : ROUNDS;
    double *samples = modc_driver_zeroed((size_t)(most * rounds), sizeof samples[0]);
    const double wall = modc_now(), cpu = modc_cpu_now();
    struct timed timed = {run, 0};
    struct modc_times times = {0.0, 0.0, 0, 1}, round;
    long count = 0, calls = 0;
    int status = 0, settled = 0;

    for (int i = 0; i < rounds && status == 0 && settled < SETTLED && (i == 0 || modc_now() - wall < 10.0);
         i++) {
        status = modc_time(call_once, &timed, asked > 0 ? 0.0 : 0.5, most < 3 ? most : 3, most,
                           samples + count, &round);
        if (status != 0)
            break;
        settled = i > 0 && round.min > 0.99 * times.min ? settled + 1 : 0;
        times.min = i == 0 || round.min < times.min ? round.min : times.min;
        count += round.samples;
        calls += round.samples * round.inner;
    }
    if (status == 0) {
        const double wall_used = modc_now() - wall, cpu_used = modc_cpu_now() - cpu;

        modc_sum_up(samples, count, 1, &times);
        print_times(run, &times, cpu_used / (double)timed.calls, calls);
        if (asked == 0)
            say_what_disturbs(run, wall_used, cpu_used, settled == SETTLED);
    }
    free(samples);
    return status == 0 ? EXIT_OK : modc_driver_call_failed(run, (enum modc_status)status);
}
