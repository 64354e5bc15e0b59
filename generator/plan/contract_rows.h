/* contract_rows.h - how products can be computed on the processor, for the rows of algorithms.c. */
#ifndef MODC_CONTRACT_ROWS_H
#define MODC_CONTRACT_ROWS_H

#include "plan/algorithm.h"

bool fits_float_panels(const struct graph *graph, const struct op *op);
bool fits_gemv(const struct graph *graph, const struct op *op);
bool fits_int8(const struct graph *graph, const struct op *op);
bool fits_narrow(const struct graph *graph, const struct op *op);
bool fits_narrow_chip(const struct graph *graph, const struct op *op);
bool fits_coded(const struct graph *graph, const struct op *op);
bool fits_dot(const struct graph *graph, const struct op *op);
bool fits_lookup(const struct graph *graph, const struct op *op);
bool fits_strided(const struct graph *graph, const struct op *op);
bool fits_packing(const struct graph *graph, const struct op *op);
double cost_gemm_panel(const struct op *op);
double cost_narrow(const struct op *op);
double cost_int8(const struct op *op);
double cost_gemv_panel(const struct op *op);
double cost_gemm_dot(const struct op *op);
double cost_strided(const struct op *op);
double cost_packing(const struct op *op);
void tiles_narrow(const struct op *op, int64_t tiles[SPLIT_AXES]);
void tiles_gemm_panel(const struct op *op, int64_t tiles[SPLIT_AXES]);
void tiles_gemv_panel(const struct op *op, int64_t tiles[SPLIT_AXES]);
void tiles_gemm_dot(const struct op *op, int64_t tiles[SPLIT_AXES]);
void tiles_strided(const struct op *op, int64_t tiles[SPLIT_AXES]);
void tiles_packing(const struct op *op, int64_t tiles[SPLIT_AXES]);
int64_t scratch_narrow(const struct op *op);
int64_t scratch_int8(const struct op *op, const struct storage *storage);
int64_t scratch_packing(const struct op *op);

#endif
