/* What the kernels of recurrent layers share: functions of vectors of units, of which the last one may have fewer.
 * T_rounds: what is stored is narrower than what is computed, and some of them may have nobody who calls them. */

#if T_sigmoid
MODC_INLINE T_vec T_NAME_sigmoid(T_vec a)
{
#if T_vector_math
    return 2.32830644e-10f / (2.32830644e-10f + T_V(exp_down)(-a)); /* 2^-32 for 1, as the function sigmoid */
#else
    T_real part[T_LANES];

    T_V(store)(part, a);
    for (int l = 0; l < T_LANES; l++)
        part[l] = 1 / (1 + T_S(exp)(-part[l]));
    return T_V(load)(part);
#endif
}

#endif
#if !T_relu
MODC_INLINE T_vec T_NAME_tanh(T_vec a)
{
#if T_vector_math
    return T_V(tanh)(a);
#else
    T_real part[T_LANES];

    T_V(store)(part, a);
    for (int l = 0; l < T_LANES; l++)
        part[l] = T_S(tanh)(part[l]);
    return T_V(load)(part);
#endif
}

#endif
/* Of a vector, of which `rest` lanes are there. */
#if T_rounds
MODC_UNUSED MODC_INLINE T_vec T_NAME_load(const T_real *p, const int rest)
#else
MODC_INLINE T_vec T_NAME_load(const T_real *p, const int rest)
#endif
{
    return rest >= T_LANES ? T_V(load)(p) : T_V(load_part)(p, rest);
}

#if T_rounds
MODC_UNUSED MODC_INLINE void T_NAME_store(T_real *p, T_vec a, const int rest)
#else
MODC_INLINE void T_NAME_store(T_real *p, T_vec a, const int rest)
#endif
{
    if (rest >= T_LANES)
        T_V(store)(p, a);
    else
        T_V(store_part)(p, a, rest);
}
