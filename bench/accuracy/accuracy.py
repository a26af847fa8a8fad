"""The error of transcendental functions against mpmath.

    accuracy.py inputs FOLDER   writes the arguments of every function and type
    accuracy.py table FOLDER    prints the largest error of what was computed of them

In between, outputs.exs computes them. A file holds little-endian numbers of its type, the
arguments of a function of two one after the other.
"""

import array
import math
import pathlib
import random
import sys

import mpmath

mpmath.mp.prec = 160
COUNT = 4000
INFINITY = float("inf")

# Type: array code of the files, digits of the significand, smallest exponent of a normal number.
TYPES = {
    "f64": ("d", 53, -1022),
    "f32": ("f", 24, -126),
    "f16": ("f", 11, -14),
    "bf16": ("f", 8, -126),
}


def magnitudes(low, high, signed=True):
    """Numbers whose logarithms are spread evenly between those of low and high."""

    def draw(rng):
        value = math.exp(rng.uniform(math.log(low), math.log(high)))
        return rng.choice([-1, 1]) * value if signed else value

    return draw


def uniform(low, high):
    return lambda rng: rng.uniform(low, high)


def around(center, low=1e-12, high=1e-1):
    """Numbers close to center, where a function has a root or a pole."""
    near = magnitudes(low, high)
    return lambda rng: center + near(rng)


TINY = magnitudes(1e-30, 1e-3)
UNIT = [uniform(-1, 1), TINY, around(1), around(-1), around(0.5)]
ALL = [magnitudes(1e-30, 1e30), uniform(-20, 20)]
ANGLES = [uniform(-10, 10), magnitudes(1e-30, 1e30), around(math.pi), around(math.pi / 2)]
POSITIVE = [magnitudes(1e-30, 1e30, signed=False), around(1)]


def sigmoid(x):
    return 1 / (1 + mpmath.exp(-x))


def cbrt(x):
    return mpmath.sign(x) * mpmath.cbrt(abs(x))


def erf_inv(x):
    if abs(x) < 0.9:
        return mpmath.erfinv(x)
    # Newton's steps from the asymptote: mpmath's own start is poor that close to 1.
    tail = 1 - abs(x)
    y = mpmath.sqrt(-mpmath.log(tail * mpmath.sqrt(mpmath.pi * -mpmath.log(tail))))
    for _ in range(60):
        step = (mpmath.erfc(y) - tail) * mpmath.sqrt(mpmath.pi) / 2 * mpmath.exp(y * y)
        y += step
        if abs(step) < abs(y) * mpmath.mpf(2) ** -140:
            break
    return mpmath.sign(x) * y


# Name of the function in Nx: the function of mpmath and the ranges that its arguments come from.
UNARY = {
    "exp": (mpmath.exp, [uniform(-80, 80), TINY]),
    "expm1": (mpmath.expm1, [uniform(-80, 80), TINY]),
    "log": (mpmath.log, POSITIVE),
    "log1p": (mpmath.log1p, [magnitudes(1e-30, 1e30, signed=False), uniform(-1, 1), TINY]),
    "sigmoid": (sigmoid, [uniform(-80, 80), TINY]),
    "sin": (mpmath.sin, ANGLES),
    "cos": (mpmath.cos, ANGLES),
    "tan": (mpmath.tan, ANGLES),
    "asin": (mpmath.asin, UNIT),
    "acos": (mpmath.acos, UNIT),
    "atan": (mpmath.atan, ALL),
    "sinh": (mpmath.sinh, [uniform(-80, 80), TINY]),
    "cosh": (mpmath.cosh, [uniform(-80, 80), TINY]),
    "tanh": (mpmath.tanh, [uniform(-20, 20), TINY]),
    "asinh": (mpmath.asinh, ALL),
    "acosh": (mpmath.acosh, [lambda rng: 1 + magnitudes(1e-12, 1e30, signed=False)(rng)]),
    "atanh": (mpmath.atanh, UNIT),
    "sqrt": (mpmath.sqrt, POSITIVE),
    "rsqrt": (lambda x: 1 / mpmath.sqrt(x), POSITIVE),
    "cbrt": (cbrt, ALL),
    "erf": (mpmath.erf, [uniform(-6, 6), TINY]),
    "erfc": (mpmath.erfc, [uniform(-6, 9), TINY]),
    "erf_inv": (erf_inv, [uniform(-1, 1), TINY, around(1), around(-1)]),
}

BINARY = {
    "pow": (mpmath.power, [(magnitudes(1e-3, 1e3, signed=False), uniform(-10, 10)),
                           (around(1), uniform(-1e4, 1e4))]),
    "atan2": (mpmath.atan2, [(magnitudes(1e-9, 1e9), magnitudes(1e-9, 1e9))]),
}


def rounded(value, name):
    """The number of a type that is closest to value; infinite where it has none."""
    value = mpmath.mpf(value)
    if value == 0 or not mpmath.isfinite(value):
        return float(value)
    step = unit(value, name)
    nearest = mpmath.nint(value / step) * step
    highest = {"f16": 65504, "bf16": 3.3895313892515355e38, "f32": 3.4028234663852886e38}
    return float(nearest) if abs(nearest) <= highest.get(name, INFINITY) else math.copysign(INFINITY, nearest)


def unit(value, name):
    """A unit in the last place of value."""
    _, digits, low = TYPES[name]
    _, exponent = mpmath.frexp(value)
    return mpmath.ldexp(1, max(int(exponent), low + 1) - digits)


def inputs(folder):
    for name, (code, _, _) in TYPES.items():
        for function, (_, ranges) in {**UNARY, **BINARY}.items():
            rng = random.Random(f"{function} {name}")
            columns = len(ranges[0]) if isinstance(ranges[0], tuple) else 1
            values = [[] for _ in range(columns)]
            while len(values[0]) < COUNT:
                draws = rng.choice(ranges)
                draws = draws if isinstance(draws, tuple) else (draws,)
                row = [rounded(draw(rng), name) for draw in draws]
                if all(map(math.isfinite, row)) and defined(function, row):
                    for column, value in zip(values, row):
                        column.append(value)
            data = b"".join(array.array(code, column).tobytes() for column in values)
            (folder / f"{function}.{name}.in").write_bytes(data)


def defined(function, row):
    x = row[0]
    if function in ("asin", "acos"):
        return abs(x) <= 1
    if function in ("atanh", "erf_inv"):
        return abs(x) < 1
    if function in ("log", "rsqrt", "pow"):
        return x > 0
    if function == "log1p":
        return x > -1
    return x >= 0 if function == "sqrt" else x >= 1 if function == "acosh" else True


def read(path, code):
    numbers = array.array(code)
    numbers.frombytes(path.read_bytes())
    return list(numbers)


def worst(folder, function, name):
    """The largest error, and the arguments of it."""
    code = TYPES[name][0]
    reference = {**UNARY, **BINARY}[function][0]
    arguments = read(folder / f"{function}.{name}.in", code)
    given = read(folder / f"{function}.{name}.out", code)
    rows = zip(*[arguments[at : at + len(given)] for at in range(0, len(arguments), len(given))])
    largest, where = mpmath.mpf(0), None
    for row, value in zip(rows, given):
        expected = reference(*map(mpmath.mpf, row))
        if math.isinf(rounded(expected, name)) or math.isinf(value) or math.isnan(value):
            error = 0 if value == rounded(expected, name) else INFINITY
        elif expected == 0:
            error = 0 if value == 0 else INFINITY
        else:
            error = abs(mpmath.mpf(value) - expected) / unit(expected, name)
        if error > largest or where is None:
            largest, where = error, row
    return largest, where


def table(folder):
    print("# Accuracy\n")
    print("The largest error of each function in units in the last place, over "
          f"{COUNT:,} arguments of each type, against mpmath {mpmath.__version__}. "
          "Half a unit is the least that rounding leaves. `make accuracy` writes this file.\n")
    print("| Function | " + " | ".join(TYPES) + " |")
    print("| --- |" + " ---: |" * len(TYPES))
    for function in {**UNARY, **BINARY}:
        cells = []
        for name in TYPES:
            error, where = worst(folder, function, name)
            cells.append(mpmath.nstr(error, 3))
            if error > 2:
                print(function, name, mpmath.nstr(error, 5), where, file=sys.stderr)
        print(f"| `{function}` | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    {"inputs": inputs, "table": table}[sys.argv[1]](pathlib.Path(sys.argv[2]))
