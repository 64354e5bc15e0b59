"""What runtime/modc_special.h is made of, by mpmath: Chebyshev series of smooth parts of functions, in a variable that runs from -1
to 1, with as many terms as a double has digits; and Temme's expansion of the incomplete gamma functions.

    python3 tests/support/series.py             prints the tables of the header
    python3 tests/support/series.py --values    prints those of tests/unit/test_special.c
"""
import fractions
import math
import random
import sys

import mpmath as mp

mp.mp.dps = 40


def bessel_phase(order, x):
    """sqrt(pi x / 2) (J cos + Y sin, Y cos - J sin) of the phase x - (order / 2 + 1 / 4) pi."""
    phase = x - (mp.mpf(order) / 2 + mp.mpf(1) / 4) * mp.pi
    j, y, scale = mp.besselj(order, x), mp.bessely(order, x), mp.sqrt(mp.pi * x / 2)
    return scale * (j * mp.cos(phase) + y * mp.sin(phase)), scale * (y * mp.cos(phase) - j * mp.sin(phase))


def airy_phase(zeta):
    x, phase = (3 * zeta / 2) ** (mp.mpf(2) / 3), zeta + mp.pi / 4
    scale = mp.sqrt(mp.pi) * x ** mp.mpf("0.25")
    a, b = mp.airyai(-x), mp.airybi(-x)
    return scale * (a * mp.sin(phase) + b * mp.cos(phase)), scale * (b * mp.sin(phase) - a * mp.cos(phase))


def airy_decay(zeta):
    x = (3 * zeta / 2) ** (mp.mpf(2) / 3)
    return 2 * mp.sqrt(mp.pi) * x ** mp.mpf("0.25") * mp.exp(zeta) * mp.airyai(x)


def inverse(t, least, power=1):
    """The x whose (least / x) ** power runs from 0 to 1 as t from -1 to 1."""
    share = (t + 1) / 2
    return mp.mpf(least) / share ** (mp.mpf(1) / power) if share > 0 else mp.mpf(10) ** 12


def linear(t, top):
    return (t + 1) / 2 * top


def squares(t, top):
    return mp.sqrt((t + 1) / 2) * top


TABLES = [
    ("i0_near", lambda t: mp.exp(-linear(t, 8)) * mp.besseli(0, linear(t, 8))),
    ("i0_far", lambda t: (lambda x: mp.exp(-x) * mp.sqrt(x) * mp.besseli(0, x))(inverse(t, 8))),
    ("i1_near", lambda t: (lambda x: mp.exp(-x) * mp.besseli(1, x) / x)(max(linear(t, 8), mp.mpf(10) ** -15))),
    ("i1_far", lambda t: (lambda x: mp.exp(-x) * mp.sqrt(x) * mp.besseli(1, x))(inverse(t, 8))),
    ("k0_near", lambda t: (lambda x: mp.besselk(0, x) + mp.log(x / 2) * mp.besseli(0, x))(max(squares(t, 2), mp.mpf(10) ** -15))),
    ("k0_far", lambda t: (lambda x: mp.exp(x) * mp.sqrt(x) * mp.besselk(0, x))(inverse(t, 2))),
    ("k1_near", lambda t: (lambda x: x * (mp.besselk(1, x) - mp.log(x / 2) * mp.besseli(1, x)))(max(squares(t, 2), mp.mpf(10) ** -12))),
    ("k1_far", lambda t: (lambda x: mp.exp(x) * mp.sqrt(x) * mp.besselk(1, x))(inverse(t, 2))),
    ("j0_near", lambda t: mp.besselj(0, squares(t, 8))),
    ("j1_near", lambda t: (lambda x: mp.besselj(1, x) / x)(max(squares(t, 8), mp.mpf(10) ** -15))),
    ("y0_near", lambda t: (lambda x: mp.bessely(0, x) - 2 / mp.pi * mp.log(x) * mp.besselj(0, x))(max(squares(t, 8), mp.mpf(10) ** -15))),
    ("y1_near", lambda t: (lambda x: (mp.bessely(1, x) + 2 / mp.pi * (1 / x - mp.log(x) * mp.besselj(1, x))) / x)(max(squares(t, 8), mp.mpf(10) ** -8))),
    ("p0", lambda t: bessel_phase(0, inverse(t, 8, 2))[0]),
    ("q0", lambda t: (lambda x: bessel_phase(0, x)[1] * x)(inverse(t, 8, 2))),
    ("p1", lambda t: bessel_phase(1, inverse(t, 8, 2))[0]),
    ("q1", lambda t: (lambda x: bessel_phase(1, x)[1] * x)(inverse(t, 8, 2))),
    ("erfcx", lambda t: (lambda x: mp.exp(x * x) * mp.erfc(x) * (1 + x))(2 * (1 - t) / (1 + t) if t > -1 else mp.mpf(10) ** 12)),
    ("airy_decay", lambda t: airy_decay(inverse(t, mp.mpf(4) * mp.sqrt(2) / 3))),
    ("airy_p", lambda t: airy_phase(inverse(t, mp.mpf(16) / 3, 2))[0]),
    ("airy_q", lambda t: (lambda z: airy_phase(z)[1] * z)(inverse(t, mp.mpf(16) / 3, 2))),
]


def terms(function, most=64):
    nodes = [mp.cos(mp.pi * (k + mp.mpf(1) / 2) / most) for k in range(most)]
    values = [function(t) for t in nodes]
    found = [2 * mp.fsum(v * mp.cos(mp.pi * n * (k + mp.mpf(1) / 2) / most) for k, v in enumerate(values)) / most for n in range(most)]
    found[0] /= 2
    size = max(abs(c) for c in found)
    while abs(found[-1]) < size * mp.mpf(2) ** -55:
        found.pop()
    return found


def print_series():
    for name, function in TABLES:
        words = [mp.nstr(x, 19, strip_zeros=False, min_fixed=-3, max_fixed=4) for x in terms(function)]
        print(f"static const double {name}[] = {{{', '.join(words)}}};")


def expansion(rows=6, columns=16, order=60):
    """C_k(eta) as powers of eta: C_0 = 1 / m - 1 / eta, C_k = C_(k-1)' / eta + (-1)^k g_k / m, where eta^2 / 2 = m - log(1 + m) and g
    are Stirling's coefficients."""
    F = fractions.Fraction
    m = [F(0), F(1)]
    for n in range(2, order + 1):
        m.append((m[n - 1] - sum(i * m[i] * m[n + 1 - i] for i in range(2, n))) / (n + 1))
    inverse = [F(1)]  # eta / m
    for n in range(1, order):
        inverse.append(-sum(m[k + 1] * inverse[n - k] for k in range(1, n + 1)))
    numbers = [F(1)]
    for n in range(1, 20):
        numbers.append(-sum(math.comb(n + 1, k) * numbers[k] for k in range(n)) / (n + 1))
    logarithm = [F(0)] * 20
    for j in range(1, 10):
        logarithm[2 * j - 1] = numbers[2 * j] / (2 * j * (2 * j - 1))
    stirling = [F(1)]
    for n in range(1, 20):
        stirling.append(sum(k * logarithm[k] * stirling[n - k] for k in range(1, n + 1)) / n)
    found = [inverse[1:]]
    for k in range(1, rows):
        last = found[-1]
        sums = [(n + 1) * last[n + 1] + (-1) ** k * stirling[k] * inverse[n] for n in range(len(last) - 1)]
        assert sums[0] == 0
        found.append(sums[1:])
    return [[float(x) for x in row[:columns]] for row in found]


# ---- values ---------------------------------------------------------------------------------------------------------

def zeta(s, q):
    """By Euler's and Maclaurin's formula: mpmath's loses digits where q is large."""
    total, s, q = mp.mpf(0), mp.mpf(s), mp.mpf(q)
    for _ in range(60 + max(0, int(-q))):
        total += q ** (-int(s)) if q < 0 else q ** -s
        q += 1
    total += q ** (1 - s) / (s - 1) + q ** -s / 2
    factor, power = s, q ** (-s - 1)
    for k in range(1, 16):
        total += mp.bernoulli(2 * k) / mp.factorial(2 * k) * factor * power
        factor *= (s + 2 * k - 1) * (s + 2 * k)
        power /= q * q
    return total


def ndtr(x):
    return mp.erfc(-x / mp.sqrt(2)) / 2


def ndtri(p):
    if p > mp.mpf(10) ** -20:
        return mp.sqrt(2) * mp.erfinv(2 * p - 1)
    return -mp.sqrt(2) * mp.findroot(lambda t: mp.log(mp.erfc(t)) - mp.log(2 * p), mp.sqrt(-mp.log(p)))


def power(low, high):
    return 10 ** random.uniform(low, high)


def of_gamma():
    a = random.choice([power(-3, 4), power(0, 3), power(2, 3.2)])
    return a, a * random.choice([random.uniform(0, 2), 1 + max(-0.9, random.gauss(0, 1.5) / (a + 1) ** 0.5), power(-2, 0.5)])


GAMMA = [(1.0, 1.0), (499.0, 500.0), (501.0, 500.0), (501.0, 600.0), (1e6, 1e6), (1e6, 1.002e6), (5.0, 6.0001), (1e-3, 1e-5)]
# name, value, points, and how more are drawn
VALUES = [
    ("lgamma", lambda x: mp.re(mp.loggamma(x)), [0.5, 1.0000001, 1.9999, -2.5],
     lambda: random.choice([power(-5, 5), -random.uniform(0, 50), random.uniform(0, 4)])),
    ("digamma", mp.digamma, [1.4616321449683622, 1.5, -0.5, 1e-10, -30.25],
     lambda: random.choice([power(-5, 5), -random.uniform(0, 50), random.uniform(0, 4)])),
    ("zeta", zeta, [(2.0, 1.0), (3.0, -20.25), (4.0, -20.25), (2.0, -9.5), (2.0, -10.5), (1.0001, 0.5), (30.0, 3.0), (2.0, 1e6)],
     lambda: random.choice([(1.001 + power(-2, 1.7), power(-3, 6)), (random.randint(2, 12), -random.uniform(0, 60))])),
    ("gammainc", lambda a, x: mp.gammainc(a, 0, x, regularized=True), [*GAMMA, (15.9, 3.0), (16.0, 3.0), (2000.0, 1400.1)], of_gamma),
    ("gammaincc", lambda a, x: mp.gammainc(a, x, regularized=True), [*GAMMA, (15.9, 30.0), (16.0, 30.0), (2000.0, 2599.0)], of_gamma),
    ("erfcx", lambda x: mp.exp(x * x) * mp.erfc(x), [-26.0, 0.0, 2.0], lambda: random.choice([power(-5, 2), random.uniform(-10, 10)])),
    ("erfinv", mp.erfinv, [0.5, -0.5, 0.9999999, 1e-7, 1e-5],
     lambda: random.choice([power(-8, 0), -random.random(), 1 - power(-15, -1)])),
    ("ndtr", ndtr, [-37.0, 0.0, 5.0], lambda: random.uniform(-37, 8)),
    ("ndtri", ndtri, [0.25, 0.75, 1e-300, 0.5000001, 1 - 1e-12],
     lambda: random.choice([random.random(), power(-30, 0), 1 - power(-10, -1)])),
    ("log_ndtr", lambda x: mp.log(ndtr(x)), [-1.0, -1.0001, -300.0, 6.0], lambda: random.uniform(-37, 8)),
    ("i0e", lambda x: mp.exp(-abs(x)) * mp.besseli(0, x), [8.0, -8.0001, 0.0, 700.0], lambda: power(-4, 3)),
    ("i1e", lambda x: mp.exp(-abs(x)) * mp.besseli(1, x), [8.0, -8.0001, 700.0], lambda: -power(-4, 3)),
    ("k0e", lambda x: mp.exp(x) * mp.besselk(0, x), [2.0, 2.0001, 700.0], lambda: power(-6, 3)),
    ("k1e", lambda x: mp.exp(x) * mp.besselk(1, x), [2.0, 2.0001, 700.0], lambda: power(-6, 3)),
    ("bessel_j0", lambda x: mp.besselj(0, x), [8.0, 8.0001, 2.404825557695773, 1e6], lambda: -power(-4, 3)),
    ("bessel_j1", lambda x: mp.besselj(1, x), [8.0, -8.0001, 3.8317059702075125, 1e6], lambda: -power(-4, 3)),
    ("bessel_y0", lambda x: mp.bessely(0, x), [8.0, 8.0001, 0.8935769662791675], lambda: power(-4, 3)),
    ("bessel_y1", lambda x: mp.bessely(1, x), [8.0, 8.0001, 2.197141326031017], lambda: power(-4, 3)),
    ("airy_ai", mp.airyai, [2.0, 2.0001, -4.0, -4.0001, -2.338107410459767, 50.0], lambda: random.uniform(-30, 20)),
]


def print_values():
    random.seed(7)
    for name, function, points, draw in VALUES:
        points = [point if isinstance(point, tuple) else (point,) for point in points]
        while len(points) < 16:
            drawn = draw()
            points.append(tuple(float(f"{x:.4g}") for x in (drawn if isinstance(drawn, tuple) else (drawn,))))
        for point in points:
            value = mp.re(function(*map(mp.mpf, point)))
            if mp.isfinite(value) and abs(value) > mp.mpf(10) ** -290:
                print(f'    {{"{name}", {point[0]!r}, {(*point, 0.0)[1]!r}, {mp.nstr(value, 17)}}},')


if sys.argv[1:] == ["--values"]:
    print_values()
else:
    print_series()
    for row in expansion():
        print("{" + ", ".join(f"{x:.17g}" for x in row) + "},")
