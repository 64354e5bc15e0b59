// confusion.cc - which digits does the network of specs/digits/mlp.yaml take for which others?
//
//     confusion FOLDER     with test.safetensors and weights_mlp.safetensors
#include <algorithm>
#include <cstdio>
#include <exception>
#include <vector>

#include "mlp.h"
#include "model.h"

constexpr int digits = 10, pixels = 64;

// A tensor of a safetensors file.
template <class T> std::vector<T> read(const modc_reader &file, const char *name, modc_dtype dtype)
{
    modc_item item;

    if (!modc_reader_find(&file, name, &item) || item.dtype != dtype)
        throw std::runtime_error(std::string("the file has no such tensor: ") + name);

    const T *data = static_cast<const T *>(item.data);

    return std::vector<T>(data, data + item.bytes / sizeof(T));
}

static void run(const std::string &folder)
{
    const Model<mlp, mlp_params> net(mlp_model, folder + "/weights_mlp.safetensors");
    const std::string path = folder + "/test.safetensors";
    const void *bytes;
    size_t length;
    modc_reader file;

    check(modc_map(path.c_str(), &bytes, &length));
    check(modc_reader_open(&file, bytes, length, nullptr));

    const auto images = read<float>(file, "images", MODC_FLOAT32);
    const auto labels = read<int64_t>(file, "labels", MODC_INT64);
    const int count = static_cast<int>(labels.size());
    std::vector<float> scores(labels.size() * digits);
    int read_as[digits][digits] = {};

    modc_unmap(bytes, length);
    if (images.size() != labels.size() * pixels)
        throw std::runtime_error(path + ": there is not one label for each image");
    for (int at = 0; at < count; at += MLP_MAX_BATCH)
        check(mlp_forward(net.get(), std::min(MLP_MAX_BATCH, count - at), &images[at * pixels],
                          &scores[at * digits]));
    for (int i = 0; i < count; i++) {
        const float *row = &scores[i * digits];

        read_as[labels.at(i)][std::max_element(row, row + digits) - row]++;
    }
    std::printf("read as    0  1  2  3  4  5  6  7  8  9\n");
    for (int label = 0; label < digits; label++) {
        std::printf("a %d      ", label);
        for (int found : read_as[label])
            found ? std::printf("%3d", found) : std::printf("  .");
        std::printf("\n");
    }
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        std::fprintf(stderr, "usage: confusion FOLDER\n");
        return 2;
    }
    try {
        run(argv[1]);
    } catch (const std::exception &fault) {
        std::fprintf(stderr, "confusion: %s\n", fault.what());
        return 1;
    }
    return 0;
}
