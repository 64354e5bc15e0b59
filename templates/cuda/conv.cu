/* 2-D convolution, channels last: y (T_n, T_oh, T_ow, T_channels) from x (T_n, T_h, T_w, T_groups * T_c), bias, tail: a
 * thread an output, those of a pixel side by side.
 *
 * T_c and T_oc are the channels of one group; pixels of x are T_ldx apart, of y T_ldy. T_turned: channels of y are planes
 * T_yc apart, images T_yn, lines T_yh. Weight (o, kh, kw, c) lies at o * T_wo + kh * T_wh + kw * T_ww + c * T_wc. Stride
 * T_sh, T_sw, zero padding T_ph, T_pw, dilation T_dh, T_dw; padding below 0 crops. Fits:
 * always; T_n, T_h, T_w, T_oh, T_ow may be sizes. Depthwise too, where T_c and T_oc are 1. Outputs are counted without a sign: a
 * step behind the last one fits, too. */
T_COMMENT
static __global__ void __launch_bounds__(256, 1) T_NAME(T_PARAMETERS)
{
    const unsigned outputs = T_n * T_oh * T_ow * T_channels;

#if !T_bias
    (void)bias;
#endif
    for (unsigned at = MODC_THREAD(256); at < outputs; at += MODC_THREADS(256)) {
        const int r = at / T_channels, o = at % T_channels, line = r / T_ow;
        const int top = line % T_oh * T_sh - T_ph, west = r % T_ow * T_sw - T_pw;
#if T_groups > 1
        const int image = line / T_oh * (T_h * T_w * T_ldx) + o / T_oc * T_c;
#else
        const int image = line / T_oh * (T_h * T_w * T_ldx);
#endif
        T_real sum = T_IF(T_bias, T_GET(bias, bias[o]), 0);

        for (int kh = 0; kh < T_kh; kh++) {
            const int h = top + kh * T_dh;

            if (h < 0 || h >= T_h)
                continue;
            for (int kw = 0; kw < T_kw; kw++) {
                const int q = west + kw * T_dw, by = o * T_wo + kh * T_wh + kw * T_ww;
                const int from = image + (h * T_w + q) * T_ldx;

                if (q < 0 || q >= T_w)
                    continue;
                for (int k = 0; k < T_c; k++)
                    sum += T_GET(x, x[from + k]) * T_GET(w, w[by + k * T_wc]);
            }
        }
#if T_turned
        const int to = line / T_oh * T_yn + o * T_yc + line % T_oh * T_yh + r % T_ow;

        y[to] = T_PUT(y, T_EPILOGUE(sum, 0, o));
#else
        y[r * T_ldy + o] = T_PUT(y, T_EPILOGUE(sum, r, o));
#endif
    }
}

T_LAUNCHER
{
    return MODC_LAUNCH_OVER(T_NAME, T_n * T_oh * T_ow * T_channels, 256, T_STREAM, T_ARGUMENTS);
}
