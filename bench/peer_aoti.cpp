/* peer_aoti.cpp - a package of AOTInductor as a peer, through PyTorch's own loader in C++. */
#include <ATen/ops/from_blob.h>
#include <torch/csrc/inductor/aoti_package/model_package_loader.h>

#include <cstdio>
#include <cstring>

namespace
{

struct Peer {
    torch::inductor::AOTIModelPackageLoader loader;
    std::vector<at::Tensor> inputs, outputs;
};

char error[512];

} // namespace

extern "C" {

/* Inputs are contiguous arrays: their memory, dimensions one after the other, and 1 float32, 7 int64 or 9 bool. NULL: see
 * peer_aoti_error. */
void *peer_aoti_open(const char *package, size_t count, void *const *data, const int64_t *dims,
                     const int *ndims, const int *types)
{
    try {
        auto *peer = new Peer{torch::inductor::AOTIModelPackageLoader(package), {}, {}};

        for (size_t i = 0; i < count; i++) {
            auto type = types[i] == 1 ? at::kFloat : types[i] == 7 ? at::kLong : at::kBool;

            peer->inputs.push_back(at::from_blob(data[i], at::IntArrayRef(dims, ndims[i]), type));
            dims += ndims[i];
        }
        return peer;
    } catch (const std::exception &fault) {
        std::snprintf(error, sizeof error, "%s", fault.what());
        return nullptr;
    }
}

const char *peer_aoti_error(void)
{
    return error;
}

int peer_aoti_call(void *user)
{
    auto *peer = static_cast<Peer *>(user);

    try {
        c10::InferenceMode guard;

        peer->outputs = peer->loader.run(peer->inputs);
        return 0;
    } catch (const std::exception &fault) {
        std::snprintf(error, sizeof error, "%s", fault.what());
        return 1;
    }
}

/* Copies output `index` of the last call, of so many bytes. 1: it has another size. */
int peer_aoti_output(void *user, size_t index, void *out, size_t bytes)
{
    at::Tensor tensor = static_cast<Peer *>(user)->outputs.at(index).contiguous();

    if (tensor.nbytes() != bytes)
        return 1;
    std::memcpy(out, tensor.const_data_ptr(), bytes);
    return 0;
}
}
