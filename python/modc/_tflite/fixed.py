"""The fixed-point numbers of TensorFlow Lite: what its kernels compute once, when a model is prepared, and tables of functions.

A real number is multiplied with as an int32 `multiplier` of 31 bits behind the point and a `shift`: x * multiplier / 2^31 *
2^shift. Products are rounded half up, divisions by a power of two half away from zero; both as gemmlowp has them.
"""
import math
import struct

TOP = 1 << 31
HIGHEST = TOP - 1


def single(value):
    """The nearest float32. The sum, product or quotient of two float32 is so what float32 arithmetic gives."""
    try:
        return struct.unpack("<f", struct.pack("<f", value))[0]
    except OverflowError:
        return math.copysign(math.inf, value)


def away(value):
    """The nearest integer, half away from zero."""
    whole = math.floor(abs(value))
    return int(math.copysign(whole + (abs(value) - whole >= 0.5), value))


def multiplier_of(real):
    """(multiplier, shift) of a number."""
    if real == 0:
        return 0, 0
    part, shift = math.frexp(real)
    multiplier = away(part * TOP)
    if multiplier == TOP:
        multiplier, shift = TOP // 2, shift + 1
    return (multiplier, shift) if shift >= -31 else (0, 0)


def wrapped(value):
    """As an int32."""
    return (value + TOP) % (2 * TOP) - TOP


def saturated(value):
    return max(-TOP, min(value, HIGHEST))


def high(a, b):
    """The high half of 2ab, rounded."""
    return saturated((a * b + TOP // 2) >> 31)


def divided(value, bits):
    """value / 2^bits, half away from zero."""
    half = (1 << bits) >> 1
    return (value + half) >> bits if value >= 0 else -((half - value) >> bits)


def scaled(value, multiplier, shift):
    """value times what multiplier and shift stand for."""
    product = high(wrapped(value << max(shift, 0)), multiplier)
    return divided(product, max(-shift, 0))


# Constants of gemmlowp: exp(-2^k) for k = -2..4, 31 bits behind the point.
POWERS = {-2: 1672461947, -1: 1302514674, 0: 790015084, 1: 290630308, 2: 39332535, 3: 720401, 4: 242}
EXP_OF_EIGHTH, THIRD = 1895147668, 715827883  # exp(-1/8), 1/3
START, SLOPE = 1515870810, -1010580540  # 48/17 and -32/17, 29 and 31 bits behind the point


def exp_below_0(raw, whole):
    """exp of a number up to 0 with `whole` bits before its point and 31 - whole behind; 31 behind that of the result."""
    if raw == 0:
        return HIGHEST
    fraction = 31 - whole
    quarter = 1 << (fraction - 2)
    rest = (raw & (quarter - 1)) - quarter
    x = (rest << whole) + (1 << 28)  # about -1/8
    square = high(x, x)
    cube, fourth = high(square, x), divided(high(square, square), 2)
    series = divided(high(fourth + cube, THIRD) + square, 1)
    result = EXP_OF_EIGHTH + high(EXP_OF_EIGHTH, x + series)
    left = rest - raw
    for power, factor in POWERS.items():
        if power < whole and left & (1 << (fraction + power)):
            result = high(result, factor)
    return result


def newton(raw):
    """1 / ((1 + a) / 2) for a in [0, 1) with 31 bits behind the point; 29 behind that of the result."""
    half = (raw + TOP) >> 1
    x = START + high(half, SLOPE)
    for _ in range(3):
        x += saturated(high(x, (1 << 29) - high(half, x)) << 2)
    return x


def logistic(raw, whole):
    positive = saturated(newton(exp_below_0(-abs(raw), whole)) << 1)
    return TOP // 2 if raw == 0 else positive if raw > 0 else HIGHEST - positive


def tanh(raw, whole):
    below = saturated((newton(exp_below_0(-abs(raw), whole + 1)) - (1 << 29)) << 2)
    return 0 if raw == 0 else below if raw > 0 else -below


def byte(value):
    return max(-128, min(value, 127))


def radius(whole, shift):
    """The largest input whose scaled form has `whole` bits before the point."""
    return math.floor(((1 << whole) - 1) * (1 << (31 - whole)) / (1 << shift))


def table_of(function, bits, offset):
    """The table of LOGISTIC or TANH: results of 31 - bits behind the point, plus offset, for the 256 inputs of a Quantised."""
    def make(source):
        multiplier, shift = multiplier_of(source.scale * (1 << 27))
        most, found = radius(4, shift), []
        for value in range(-128, 128):
            away_from_zero = value - source.zero
            if abs(away_from_zero) >= most:
                found.append(127 if away_from_zero > 0 else -128)
            else:
                found.append(byte(divided(function(scaled(away_from_zero, multiplier, shift), 4), bits) + offset))
        return found
    return make


logistic_table = table_of(logistic, 23, -128)
tanh_table = table_of(tanh, 24, 0)


def rescaled_table(source, target, values=range(-128, 128), low=-128, high=127):
    """Integers of one scale and zero as those of another."""
    multiplier, shift = multiplier_of(source.scale / target.scale)
    return [max(low, min(scaled(value - source.zero, multiplier, shift) + target.zero, high)) for value in values]


def leaky_table(source, target, slope):
    same = multiplier_of(single(source.scale / target.scale))
    below = multiplier_of(single(single(source.scale * slope) / target.scale))
    return [byte(scaled(value - source.zero, *(same if value >= source.zero else below)) + target.zero)
            for value in range(-128, 128)]


def high16(a, b):
    return max(-32768, min((a * b + (1 << 14)) >> 15, 32767))


def short(value):
    return max(-32768, min(value, 32767))


def down(multiplier):
    """A multiplier of 15 bits behind the point."""
    return 32767 if multiplier >= HIGHEST - (1 << 15) else (multiplier + (1 << 15)) >> 16


def hard_swish_table(source, target):
    """None where the kernel refuses these scales."""
    fine = single(source.scale / 128)
    out, out_shift = multiplier_of(single(fine / target.scale))
    gate, gate_shift = multiplier_of(single(fine / single(3 / 32768)))
    if out_shift > 0:
        return None
    found = []
    for value in range(-128, 128):
        x = (value - source.zero) << 7
        product = high16(x, down(out))
        near = x
        if gate_shift > 0:
            near = short(near << (gate_shift - 1))
        near = high16(near, down(gate))
        if gate_shift > 0:
            near = short(near << 1)
        elif gate_shift < 0:
            near = divided(near, -gate_shift)
        near = (near + 32768) >> 1
        whole = abs(near * product) >> 15
        whole = whole if near * product >= 0 else -whole
        found.append(byte(divided(whole, -out_shift) + target.zero))
    return found


def exp_table(scale, beta):
    """exp((d - 0) * scale * beta) for d = 0, -1, .., -255, 31 bits behind the point, 0 where it is left out; None where the
    kernel refuses the scale."""
    real = min(beta * scale * (1 << 26), HIGHEST * 1.0)
    if real <= 1:
        return None
    multiplier, shift = multiplier_of(real)
    least = -radius(5, shift)
    return [exp_below_0(high(wrapped(-d << shift), multiplier), 5) if -d >= least else 0 for d in range(256)]
