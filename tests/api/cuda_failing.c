/* cuda_failing.c - calls of CUDA fail, one in a run (CUDA_HOST_FAIL): whatever it is, the function that made it returns MODC_GPU or
 * MODC_MEMORY, what there is can be destroyed, and all of it begun anew gives the numbers of a run in which nothing fails. Where a kernel
 * fails while it runs (CUDA_HOST_FAIL_LAUNCH) nothing can begin anew. On a GPU nothing fails, and both runs are one. Status 3 tells the runner that something did fail. */
#include <cuda_runtime.h>
#include <stdint.h>
#include <string.h>

#include "check.h"
#include "modc_host.h"
#include "trained.h"

enum { BATCH = 8, STEPS = 2 };

struct all {
    struct modc_params *params;
    struct trained *net;
    struct modc_training *training;
    void *memory;
    float output[BATCH * 3], loss;
};

static const float inputs[BATCH * 4] = {0.5f, -1.0f, 0.25f, 2.0f, -0.75f, 1.5f, 0.0f, 1.0f};
static const int64_t targets[BATCH] = {0, 1, 2, 0, 1, 2, 0, 1};

static enum modc_status cuda(cudaError_t code)
{
    return code == cudaSuccess ? MODC_OK : MODC_GPU;
}

static enum modc_status run(struct all *all, cudaStream_t stream)
{
    const char *why;

    MODC_TRY(trained_model.device->find(&why));
    MODC_TRY(modc_params_create(&trained_model, &all->params));

    struct trained_params *params = (struct trained_params *)all->params;

    MODC_TRY(trained_reset(params, 3));
    MODC_TRY(trained_pack(params, NULL, 0));
    MODC_TRY(trained_create(params, &all->net));
    MODC_TRY(trained_sync(all->net));
    MODC_TRY(trained_set_stream(all->net, stream));
    trained_train(all->net, true);
    MODC_TRY(modc_training_create(&all->net->base, &all->training));
    MODC_TRY(cuda(cudaMalloc(&all->memory, sizeof inputs + sizeof targets + sizeof(float))));

    int64_t *target = all->memory;
    float *x = (float *)(void *)(target + BATCH), *loss = x + BATCH * 4;

    MODC_TRY(cuda(cudaMemcpy(x, inputs, sizeof inputs, cudaMemcpyHostToDevice)));
    MODC_TRY(cuda(cudaMemcpy(target, targets, sizeof targets, cudaMemcpyHostToDevice)));
    for (int i = 0; i < STEPS; i++) {
        MODC_TRY(trained_train_step((struct trained_training *)all->training, BATCH, x, target, loss));
        MODC_TRY(trained_sync(all->net));
        MODC_TRY(trained_pack(params, NULL, 0));
    }
    MODC_TRY(cuda(cudaMemcpy(&all->loss, loss, sizeof all->loss, cudaMemcpyDeviceToHost)));
    MODC_TRY(trained_download(params));
    return trained_forward_host(all->net, BATCH, inputs, all->output);
}

/* The run, and the end of what it made. */
static enum modc_status run_once(struct all *all)
{
    cudaStream_t stream = NULL;
    enum modc_status status;

    memset(all, 0, sizeof *all);
    status = cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    if (status == MODC_OK)
        status = run(all, stream);
    cudaFree(all->memory);
    modc_training_destroy(all->training);
    if (all->net)
        trained_destroy(all->net);
    if (all->params)
        modc_params_destroy(all->params);
    if (stream)
        cudaStreamDestroy(stream);
    return status;
}

int main(void)
{
    struct all first, again;
    const enum modc_status status = run_once(&first);

    CHECK(status == MODC_OK || status == MODC_GPU || status == MODC_MEMORY);
    if (status != MODC_OK && getenv("CUDA_HOST_FAIL_LAUNCH") != NULL)
        return 3;
#ifdef CUDA_HOST_ERRORS /* a call of the stand-in fails by its number */
    cuda_host_fail(0, cudaSuccess);
    cuda_host_fail_launch(0, cudaSuccess);
#endif
    CHECK_OK(run_once(&again));
    CHECK(status != MODC_OK ||
          (again.loss == first.loss && !memcmp(again.output, first.output, sizeof again.output)));
    printf("%a %a\n", (double)again.loss, (double)again.output[0]);
    return status == MODC_OK ? 0 : 3;
}
