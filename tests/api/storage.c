/* storage.c - weights in 16 bits: what modc embeds is what policy_pack makes, in the same bytes; tensors can be had
 * again where the spec saves them, and a packed block that is older than the parameters is not used. */
#include "check.h"
#include "storage_bare.h"
#include "storage_edges.h"

#include <string.h>

enum { WEIGHTS = 19 };

static const char *const file = "build/vectors/storage_edges/weights.safetensors";
static const float x[3] = {1.0f, -2.0f, 0.5f}, one[1] = {1.0f};

struct outputs {
    float all[3 * WEIGHTS], few[3 * 3], single[WEIGHTS];
};

static void check_bare(const struct outputs *expected)
{
    static struct storage_bare_params params;
    struct storage_bare *net;
    struct outputs found;
    float weight[WEIGHTS];
    static char room[4096];
    size_t length;

    CHECK_OK(storage_bare_bind_embedded(&params));
    CHECK(params.weight == NULL);
    CHECK(storage_bare_get(&params, "weight", weight) == MODC_POINTER);
    CHECK(modc_save_bytes(&params.base, room, sizeof room, &length) == MODC_POINTER);
    CHECK(STORAGE_BARE_EMBEDDED_BYTES == STORAGE_BARE_PACKED_BYTES - MODC_ALIGN); /* but for the owner */
    CHECK_OK(storage_bare_create(&params, &net));
    CHECK_OK(storage_bare_forward(net, x, one, found.all, found.few, found.single));
    CHECK(memcmp(&found, expected, sizeof found) == 0);
    storage_bare_destroy(net);
}

int main(void)
{
    static struct storage_edges_params embedded;
    struct storage_edges_params *loaded;
    struct modc_params *made;
    struct storage_edges *net;
    struct outputs expected, found;
    float weight[WEIGHTS];

    CHECK_OK(modc_params_create(&storage_edges_model, &made));
    loaded = (struct storage_edges_params *)made;
    CHECK_OK(storage_edges_load(loaded, file, MODC_STRICT, NULL));
    CHECK_OK(storage_edges_create(loaded, &net));
    CHECK(storage_edges_forward(net, x, one, expected.all, expected.few, expected.single) == MODC_STALE);
    CHECK_OK(storage_edges_pack(loaded, NULL, 0));
    CHECK_OK(storage_edges_forward(net, x, one, expected.all, expected.few, expected.single));
    storage_edges_changed(loaded);
    CHECK(storage_edges_forward(net, x, one, found.all, found.few, found.single) == MODC_STALE);
    storage_edges_destroy(net);

    CHECK_OK(storage_edges_bind_embedded(&embedded));
    CHECK(memcmp(embedded.base.packed, loaded->base.packed, STORAGE_EDGES_PACKED_BYTES - MODC_ALIGN) == 0);
    CHECK_OK(storage_edges_get(&embedded, "weight", weight));
    CHECK(memcmp(weight, loaded->weight, sizeof weight) == 0);
    CHECK_OK(storage_edges_create(&embedded, &net));
    CHECK_OK(storage_edges_forward(net, x, one, found.all, found.few, found.single));
    CHECK(memcmp(&found, &expected, sizeof found) == 0);
    storage_edges_destroy(net);
    modc_params_destroy(made);

    check_bare(&expected);
    return 0;
}
