/* use.c - calls three models of one spec: weights that are part of the program, float64 with another constant, and
 * another name, with weights as an array of C. */
#include <stdio.h>

#include "narrow.h"
#include "net.h"
#include "wide.h"

int main(void)
{
    static const float x[] = {1, 2};
    static const double wide_x[] = {1, 2};
    struct net_params params;
    struct narrow_params narrow_params;
    struct modc_params *wide_params;
    struct net *net;
    struct narrow *narrow;
    struct wide *wide;
    double wide_y;
    float y, narrow_y;

    if (net_bind_embedded(&params) != MODC_OK || net_create(&params, &net) != MODC_OK ||
        net_forward(net, 1, x, &y) != MODC_OK)
        return 1;
    if (narrow_bind_embedded(&narrow_params) != MODC_OK ||
        narrow_create(&narrow_params, &narrow) != MODC_OK ||
        narrow_forward(narrow, 1, x, &narrow_y) != MODC_OK)
        return 2;
    if (modc_params_create(&wide_model, &wide_params) != MODC_OK || modc_reset(wide_params, 1) != MODC_OK ||
        modc_pack(wide_params, NULL, 0) != MODC_OK ||
        wide_create((struct wide_params *)(void *)wide_params, &wide) != MODC_OK ||
        wide_forward(wide, 1, wide_x, &wide_y) != MODC_OK)
        return 3;
    printf("net %.3f, narrow %.3f, wide %.3f with %d weights of at most %d rows\n", (double)y,
           (double)narrow_y, wide_y, wide_model.keys[0].dims[0], WIDE_MAX_BATCH);
    net_destroy(net);
    narrow_destroy(narrow);
    wide_destroy(wide);
    modc_params_destroy(wide_params);
    return 0;
}
