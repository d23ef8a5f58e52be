"""The repetitive half of the shim: one declaration for each element type, vector size and address space."""

from __future__ import annotations

import itertools
from collections.abc import Iterator

from shaderc_tool.msl.shim import names
from shaderc_tool.msl.shim.names import BFLOAT, ELEMENTS, FLOAT, FLOATS, HALF, INTEGERS, Element

_SPACES = (("__global", "global", 2), ("__local", "local", 1))


def _vector(element: Element, size: int) -> str:
    return element.clang if size == 1 else f"{element.msl}{size}"


def _air(element: Element, size: int, signed: bool = True) -> str:
    code = element.air if size == 1 else f"v{size}{element.air}"
    return code if element.sign == "f" or not signed else f"{element.sign}.{code}"


def _declare(result: str, name: str, parameters: str, label: str, pure: bool = True) -> str:
    return f'{"__pure " if pure else ""}{result} {name}({parameters}) __asm("air.{label}");'


def vector_types() -> Iterator[str]:
    """`float4` and friends, and their names in `metal`."""
    for element in ELEMENTS:
        for size in (2, 3, 4):
            yield f"typedef {element.clang} {element.msl}{size} __attribute__((ext_vector_type({size})));"
    yield "namespace metal {"
    for name in names.VECTOR_NAMES:
        yield f"using ::{name};"
    yield from (f"using ::{e.msl};" for e in INTEGERS if e.msl.startswith("u"))
    yield from (f"using ::{n}{b}_t;" for n in ("int", "uint") for b in (8, 16, 32, 64))
    yield "using ::size_t; using ::ptrdiff_t;"
    yield "}"


def bool_vectors() -> Iterator[str]:
    """bool2..4 as classes over char vectors: this mode of clang has no vectors of bool."""
    for size in (2, 3, 4):
        name = f"bool{size}"
        fields = ", ".join("xyzw"[:size])
        yield f"struct {name} {{ union {{ char{size} v; struct {{ bool {fields}; }}; }};"
        yield f"{name}() = default;"
        yield f"constexpr {name}(bool s) : v((char{size})(char)s) {{}}"
        arguments = ", ".join(f"bool {c}" for c in "abcd"[:size])
        values = ", ".join(f"(char){c}" for c in "abcd"[:size])
        yield f"constexpr {name}({arguments}) : v((char{size})({values})) {{}}"
        for element in ("char", "short", "int", "long"):
            tests = ", ".join(f"(char)(o[{i}] != 0)" for i in range(size))
            yield f"{name}({element}{size} o) : v((char{size})({tests})) {{}}"
        yield "__generic bool& operator[](int i) { return (&x)[i]; }"
        yield "const __generic bool& operator[](int i) const { return (&x)[i]; }"
        yield f"{name} operator!() const {{ return {name}(v == (char{size})(char)0); }}"
        for op in ("&&", "||", "&", "|", "^"):
            bitwise = op[0]
            yield f"{name} operator{op}({name} o) const {{ {name} r; r.v = v {bitwise} o.v; return r; }}"
        yield "};"
        yield f"namespace metal {{ using ::{name};"
        yield f"__shim bool any({name} b) {{ return any(b.v); }} __shim bool all({name} b) {{ return all(b.v); }}"
        yield f"template <typename T> __shim vec<T, {size}> select(vec<T, {size}> a, vec<T, {size}> b, {name} c) {{"
        yield "return select(a, b, c.v); }"
        yield f"template <typename S> struct __conv<S __attribute__((ext_vector_type({size}))), {name}> {{"
        yield f"static __shim vec<S, {size}> to({name} b) {{"
        yield f"return __builtin_convertvector(b.v, vec<S, {size}>); }} }};"
        yield "}"


def packed_vectors() -> Iterator[str]:
    """packed_float3 and friends: fields without padding that convert to and from the vector type."""
    yield "namespace metal { template <typename T, int N> struct packed_vec;"
    for size in (2, 3, 4):
        yield from _packed(size)
    for op in ("+", "-", "*", "/"):
        for left, right in (("packed_vec<T, N> a", "S b"), ("S a", "packed_vec<T, N> b")):
            yield "template <typename T, int N, typename S, typename = enable_if_t<is_scalar_v<S>>>"
            yield f"__shim vec<T, N> operator{op}({left}, {right}) {{"
            first, second = ("(vec<T, N>)a", "b") if left[0] == "p" else ("a", "(vec<T, N>)b")
            yield f"return {first} {op} {second}; }}"
    yield "template <typename T, int N> __shim vec<T, N> operator-(packed_vec<T, N> a) { return -(vec<T, N>)a; }"
    yield "}"
    for name, (element, size) in names.PACKED_NAMES.items():
        yield f"typedef metal::packed_vec<{element}, {size}> {name}; namespace metal {{ using ::{name}; }}"


def _packed(size: int) -> Iterator[str]:
    fields = "xyzw"[:size]
    yield f"template <typename T> struct packed_vec<T, {size}> {{"
    yield f"union {{ struct {{ T {', '.join(fields)}; }}; struct {{ T {', '.join('rgba'[:size])}; }}; }};"
    yield "packed_vec() = default;"
    yield f"constexpr packed_vec(vec<T, {size}> o) : {', '.join(f'{f}(o.{f})' for f in fields)} {{}}"
    yield f"explicit constexpr packed_vec(T s) : {', '.join(f'{f}(s)' for f in fields)} {{}}"
    parameters = ", ".join(f"T {c}" for c in "abcd"[:size])
    inits = ", ".join(f"{f}({c})" for f, c in zip(fields, "abcd", strict=False))
    yield f"constexpr packed_vec({parameters}) : {inits} {{}}"
    yield f"constexpr operator vec<T, {size}>() const {{ vec<T, {size}> r = {{{', '.join(fields)}}}; return r; }}"
    yield "constexpr __generic T& operator[](int i) { return (&x)[i]; }"
    yield "constexpr const __generic T& operator[](int i) const { return (&x)[i]; }"
    for part in ("xy", "xyz", "rgb"):
        if len(part) <= size:
            two = f"vec<T, {len(part)}>"
            yield f"{two} __get_{part}() const {{ {two} r = {{{', '.join(part)}}}; return r; }}"
            yield f"void __put_{part}({two} o) {{ {' '.join(f'{c} = o.{c};' for c in part)} }}"
            yield f"__declspec(property(get = __get_{part}, put = __put_{part})) {two} {part};"
    vector = f"vec<T, {size}>"
    for op in ("+", "-", "*", "/"):
        for operand in (vector, "T"):
            yield f"__generic packed_vec& operator{op}=({operand} o) {{"
            yield f"return *this = packed_vec(({vector})*this {op} o); }}"
    yield "};"
    yield "template <typename S, typename T>"
    yield f"struct __conv<S __attribute__((ext_vector_type({size}))), packed_vec<T, {size}>> {{"
    yield f"static constexpr __shim vec<S, {size}> to(packed_vec<T, {size}> p) {{"
    yield f"return __builtin_convertvector(({vector})p, vec<S, {size}>); }} }};"
    yield f"template <typename T> struct __scalar_of<packed_vec<T, {size}>> {{"
    yield f"typedef T type; enum {{ size = {size}, vector = 1 }}; }};"
    yield f"template <typename S, typename T> struct __part<S, packed_vec<T, {size}>> {{"
    yield f"static constexpr __shim vec<S, {size}> to(packed_vec<T, {size}> p) {{"
    yield f"return __builtin_convertvector(({vector})p, vec<S, {size}>); }} }};"


def bfloat_vectors() -> Iterator[str]:
    """bfloat2..4 as classes over their bits; arithmetic goes through float."""
    for size in (2, 3, 4):
        name, fields = f"bfloat{size}", "xyzw"[:size]
        vector = f"float{size}"
        yield f"struct {name} {{ ushort{size} __v; {name}() = default;"
        parameters = ", ".join(f"bfloat {c}" for c in fields)
        yield f"{name}({parameters}) {{ {' '.join(f'__v.{c} = {c}.__b;' for c in fields)} }}"
        yield f"{name}(bfloat s) : __v((ushort{size})s.__b) {{}}"
        yield "template <typename U, typename = metal::enable_if_t<metal::is_scalar_v<U>>>"
        yield f"{name}(U s) : __v((ushort{size})bfloat(s).__b) {{}}"
        for element in ELEMENTS:
            rounded = " ".join(f"__v.{c} = bfloat((float)o.{c}).__b;" for c in fields)
            yield f"explicit {name}({element.msl}{size} o) {{ {rounded} }}"
        widened = ", ".join(f"__builtin_astype((uint)__v.{c} << 16, float)" for c in fields)
        yield f"operator {vector}() const {{ return ({vector})({widened}); }}"
        yield "__generic bfloat& operator[](int i) { return ((__generic bfloat*)&__v)[i]; }"
        yield "const __generic bfloat& operator[](int i) const { return ((const __generic bfloat*)&__v)[i]; }"
        for c in fields:
            yield f"bfloat __get_{c}() const {{ bfloat b; b.__b = __v.{c}; return b; }}"
            yield f"void __put_{c}(bfloat b) {{ __v.{c} = b.__b; }}"
            yield f"__declspec(property(get = __get_{c}, put = __put_{c})) bfloat {c};"
        for op in ("+", "-", "*", "/"):
            for operand in (vector, name):
                yield f"__generic {name}& operator{op}=({operand} o) {{"
                yield f"return *this = {name}(({vector})*this {op} ({vector})o); }}"
        yield "};"
        for op in ("+", "-", "*", "/"):
            yield f"__shim {name} operator{op}({name} a, {name} b) {{ return {name}(({vector})a {op} ({vector})b); }}"
            for left, right in ((f"{name} a", "S b"), ("S a", f"{name} b")):
                first, second = (f"({vector})a", "(float)b") if right == "S b" else ("(float)a", f"({vector})b")
                yield "template <typename S, typename = metal::enable_if_t<metal::is_scalar_v<S>>>"
                yield f"__shim {name} operator{op}({left}, {right}) {{ return {name}({first} {op} {second}); }}"
        yield f"namespace metal {{ using ::{name};"
        yield f"template <typename S> struct __conv<S __attribute__((ext_vector_type({size}))), {name}> {{"
        yield f"static __shim vec<S, {size}> to({name} b) {{"
        yield f"return __builtin_convertvector(({vector})b, vec<S, {size}>); }} }};"
        yield f"template <> struct __scalar_of<{name}> {{"
        yield f"typedef bfloat type; enum {{ size = {size}, vector = 1 }}; }};"
        yield f"template <> struct __column<bfloat, {size}> {{ typedef {name} type; }}; }}"


def matrix_names() -> Iterator[str]:
    for kind in ("float", "half"):
        for columns in (2, 3, 4):
            for rows in (2, 3, 4):
                yield f"typedef metal::matrix<{kind}, {columns}, {rows}> {kind}{columns}x{rows};"
    yield "namespace metal {" + " ".join(f"using ::{name};" for name in names.MATRIX_NAMES) + "}"


def _math(fast: bool) -> Iterator[str]:
    """The intrinsics of one math namespace. Only float has fast forms."""
    for element in FLOATS:
        prefix = "fast_" if fast and element is FLOAT else ""
        for size in (1, 2, 3, 4):
            t, code = _vector(element, size), _air(element, size)
            for name in names.UNARY:
                yield _declare(t, name, t, f"{prefix}{name}.{code}")
            for name in names.BINARY:
                yield _declare(t, name, f"{t}, {t}", f"{prefix}{name}.{code}")
            yield _declare(t, "max", f"{t}, {t}", f"{prefix}fmax.{code}")
            yield _declare(t, "min", f"{t}, {t}", f"{prefix}fmin.{code}")
            yield _declare(t, "clamp", f"{t}, {t}, {t}", f"{prefix}clamp.{code}")
            integer = "int" if size == 1 else f"int{size}"
            yield _declare(t, "ldexp", f"{t}, {integer}", f"{prefix}ldexp.{code}")
            yield f"__shim {t} abs({t} x) {{ return fabs(x); }}"
            yield f"__shim {t} divide({t} a, {t} b) {{ return a / b; }}"
            if size > 1:
                s = element.clang
                yield f"__shim {t} max({t} a, {s} b) {{ return max(a, ({t})b); }}"
                yield f"__shim {t} min({t} a, {s} b) {{ return min(a, ({t})b); }}"
                yield f"__shim {t} fmax({t} a, {s} b) {{ return max(a, ({t})b); }}"
                yield f"__shim {t} fmin({t} a, {s} b) {{ return min(a, ({t})b); }}"
                yield f"__shim {t} clamp({t} a, {s} b, {s} c) {{ return clamp(a, ({t})b, ({t})c); }}"


def math_functions(fast: bool) -> Iterator[str]:
    """`metal::fast`, `metal::precise`, and in `metal` the one that the math mode chooses."""
    yield "namespace metal { namespace precise {"
    yield from _math(fast=False)
    yield "} namespace fast {"
    yield from _math(fast=True)
    yield "}"
    yield from _math(fast)
    for element in FLOATS:
        for size in (1, 2, 3, 4):
            t, code = _vector(element, size), _air(element, size)
            yield _declare(t, "fma", f"{t}, {t}, {t}", f"fma.{code}")
            if size > 1:
                yield _declare(element.clang, "dot", f"{t}, {t}", f"dot.{code}")
    yield "}"


def integer_functions() -> Iterator[str]:
    yield "namespace metal {"
    for element in INTEGERS:
        for size in (1, 2, 3, 4):
            t, code, plain = _vector(element, size), _air(element, size), _air(element, size, signed=False)
            yield _declare(t, "max", f"{t}, {t}", f"max.{code}")
            yield _declare(t, "min", f"{t}, {t}", f"min.{code}")
            yield _declare(t, "clamp", f"{t}, {t}, {t}", f"clamp.{code}")
            yield _declare(t, "popcount", t, f"popcount.{plain}")
            yield _declare(t, "reverse_bits", t, f"reverse_bits.{plain}")
            yield _declare(t, "__clz", f"{t}, bool", f"clz.{plain}")
            yield _declare(t, "__ctz", f"{t}, bool", f"ctz.{plain}")
            yield f"__shim {t} clz({t} x) {{ return __clz(x, false); }}"
            yield f"__shim {t} ctz({t} x) {{ return __ctz(x, false); }}"
            if element.sign == "s":
                yield _declare(t, "abs", t, f"abs.{code}")
            else:
                yield f"__shim {t} abs({t} x) {{ return x; }}"
            if size > 1:
                s = element.clang
                yield f"__shim {t} max({t} a, {s} b) {{ return max(a, ({t})b); }}"
                yield f"__shim {t} min({t} a, {s} b) {{ return min(a, ({t})b); }}"
                yield f"__shim {t} clamp({t} a, {s} b, {s} c) {{ return clamp(a, ({t})b, ({t})c); }}"
    yield "}"


def _group(element: Element, size: int) -> Iterator[str]:
    t, code = _vector(element, size), _air(element, size)
    for name in (*names.SIMD_REDUCTIONS, *names.QUAD_REDUCTIONS):
        yield _declare(t, name, t, f"{name}.{code}", pure=False)
    if element.sign != "f":
        for name in (*names.SIMD_BITS, *names.QUAD_BITS):
            yield _declare(t, name, t, f"{name}.{code}", pure=False)
    for name in (*names.SIMD_SHUFFLES, *names.QUAD_SHUFFLES):
        yield _declare(t, name, f"{t}, ushort", f"{name}.{code}", pure=False)
    for name in names.SIMD_FILLS:
        yield _declare(t, f"__{name}", f"{t}, {t}, ushort, ushort", f"{name}.{code}", pure=False)
        yield f"__shim {t} {name}({t} a, {t} fill, ushort d, ushort m = 32) {{ return __{name}(a, fill, d, m); }}"
    for group in ("simd", "quad"):
        yield f"__shim {t} {group}_broadcast_first({t} x) {{ return {group}_broadcast(x, (ushort)0); }}"


def group_functions() -> Iterator[str]:
    """simdgroup and quadgroup functions. They are convergent: not pure, never moved or merged."""
    yield "namespace metal {"
    for element in ELEMENTS:
        if element.air != "i64":
            for size in (1, 2, 3, 4):
                yield from _group(element, size)
    for group in ("simd", "quad"):
        for name in ("all", "any"):
            yield _declare("bool", f"{group}_{name}", "bool", f"{group}_{name}", pure=False)
    for name in (*names.SIMD_SHUFFLES, *names.QUAD_SHUFFLES):
        yield f"__shim bool {name}(bool b, ushort l) {{ return {name}((ushort)b, l) != 0; }}"
        yield f"__shim bfloat {name}(bfloat b, ushort l) {{ b.__b = {name}(b.__b, l); return b; }}"
    for name in ("simd_sum", "simd_max", "simd_min", "simd_product", "simd_prefix_inclusive_sum"):
        yield f"__shim bfloat {name}(bfloat b) {{ return bfloat({name}((float)b)); }}"
    yield "}"


def atomics() -> Iterator[str]:
    yield "namespace metal {"
    yield "enum memory_order { memory_order_relaxed = 0 };"
    yield "template <typename T> struct _atomic { T __s; };"
    yield "template <typename T> using atomic = _atomic<T>;"
    for space, word, scope in _SPACES:
        for element in (INTEGERS[4], INTEGERS[5], FLOAT):
            yield from _atomic(element, space, word, scope)
        yield from _atomic_bool(space, scope)
        for op in ("max", "min"):
            yield _declare(
                "void",
                f"__a_{op}",
                f"volatile {space} ulong*, ulong, int, int, bool",
                f"atomic.{word}.{op}.u.i64",
                pure=False,
            )
            yield f"__shim void atomic_{op}_explicit(volatile {space} _atomic<ulong>* p, ulong v, memory_order) {{"
            yield f"__a_{op}(&p->__s, v, 0, {scope}, true); }}"
    yield "} "
    for kind in ("int", "uint", "float", "bool", "ulong"):
        yield f"typedef metal::_atomic<{kind}> __atomic_{kind};"
        yield f"namespace metal {{ typedef _atomic<{kind}> __atomic_{kind}; }}"


def _atomic(element: Element, space: str, word: str, scope: int) -> Iterator[str]:
    t, plain, signed = element.clang, element.air, _air(element, 1)
    p, object_ = f"volatile {space} {t}*", f"volatile {space} _atomic<{t}>* p"
    tail = f"0, {scope}, true"
    yield _declare(t, "__a_load", f"{p}, int, int, bool", f"atomic.{word}.load.{plain}", pure=False)
    yield _declare("void", "__a_store", f"{p}, {t}, int, int, bool", f"atomic.{word}.store.{plain}", pure=False)
    yield _declare(t, "__a_xchg", f"{p}, {t}, int, int, bool", f"atomic.{word}.xchg.{plain}", pure=False)
    yield _declare(
        t,
        "__a_cmpxchg",
        f"{p}, __private {t}*, {t}, int, int, int, bool",
        f"atomic.{word}.cmpxchg.weak.{plain}",
        pure=False,
    )
    yield f"__shim {t} atomic_load_explicit({object_}, memory_order) {{ return __a_load(&p->__s, {tail}); }}"
    yield f"__shim {t} atomic_load_explicit(const {object_}, memory_order) {{"
    yield f"return __a_load(({p})&p->__s, {tail}); }}"
    yield f"__shim void atomic_store_explicit({object_}, {t} v, memory_order) {{ __a_store(&p->__s, v, {tail}); }}"
    yield f"__shim {t} atomic_exchange_explicit({object_}, {t} v, memory_order) {{"
    yield f"return __a_xchg(&p->__s, v, {tail}); }}"
    yield f"__shim bool atomic_compare_exchange_weak_explicit({object_}, __private {t}* e, {t} v, memory_order,"
    yield f"memory_order) {{ {t} was = *e; __a_cmpxchg(&p->__s, e, v, 0, {tail}); return __same_bits(*e, was); }}"
    operations = ("add", "sub") if element is FLOAT else ("add", "sub", "max", "min", "and", "or", "xor")
    for op in operations:
        yield _declare(t, f"__a_{op}", f"{p}, {t}, int, int, bool", f"atomic.{word}.{op}.{signed}", pure=False)
        yield f"__shim {t} atomic_fetch_{op}_explicit({object_}, {t} v, memory_order) {{"
        yield f"return __a_{op}(&p->__s, v, {tail}); }}"


def _atomic_bool(space: str, scope: int) -> Iterator[str]:
    parameter = f"volatile {space} _atomic<bool>* p"
    yield f"__shim bool atomic_load_explicit({parameter}, memory_order) {{ return p->__s; }}"
    yield f"__shim void atomic_store_explicit({parameter}, bool v, memory_order) {{ p->__s = v; }}"


def simdgroup_matrices() -> Iterator[str]:
    """8x8 matrices spread over a simdgroup; AIR sees `<64 x T>`."""
    elements = (*FLOATS, BFLOAT)
    base = "simdgroup_matrix_8x8"
    yield "namespace metal {"
    for element in elements:
        s, code, m = element.clang, f"v64{element.air}", f"__m64_{element.air}"
        yield f"typedef {s} {m} __attribute__((ext_vector_type(64)));"
        yield _declare(m, "__m_fill", s, f"{base}_init_filled.{code}.{element.air}", pure=False)
        yield _declare(m, "__m_diag", s, f"{base}_init_diag.{code}.{element.air}", pure=False)
        for space, number in (("__global", 1), ("__local", 3)):
            where = f"{code}.p{number}{element.air}"
            source, target = f"const {space} {s}*", f"{m}, {space} {s}*"
            yield _declare(m, "__m_load", f"{source}, ulong, ulong2, bool", f"{base}_load.{where}", pure=False)
            yield _declare("void", "__m_store", f"{target}, ulong, ulong2, bool", f"{base}_store.{where}", pure=False)
    for types in itertools.product(elements, repeat=4):
        label = ".".join(f"v64{e.air}" for e in types)
        parameters = ", ".join(f"__m64_{e.air}" for e in types[1:])
        result = types[0].air
        yield _declare(
            f"__m64_{result}", f"__m_mac_{result}", parameters, f"{base}_multiply_accumulate.{label}", pure=False
        )
    yield "}"


def textures() -> Iterator[str]:
    """Types that parse; the front end reports their use."""
    yield "namespace metal {"
    yield "enum class access { sample, read, write, __u_read_write };"
    yield "struct sampler { template <typename... A> constexpr sampler(A...) {} };"
    methods = [
        "read",
        "sample",
        "gather",
        "write",
        "get_width",
        "get_height",
        "get_depth",
        "get_array_size",
        "sample_compare",
        "gather_compare",
        "get_num_mip_levels",
        "get_num_samples",
        "fence",
    ]
    for name in names.TEXTURES:
        result = "T" if name.startswith("depth") else "vec<T, 4>"
        yield f"template <typename T, access A = access::sample> struct {name} {{ typedef {result} __result;"
        for method in methods:
            kind = "uint" if method.startswith("get_") else "void" if method in ("write", "fence") else "__result"
            yield f"template <typename... P> {kind} {method}(P...) const;"
        yield "};"
    for space, values in (
        ("coord", "normalized pixel"),
        ("address", "clamp_to_edge clamp_to_zero clamp_to_border repeat mirrored_repeat"),
        ("filter", "nearest linear bicubic"),
        ("mag_filter", "nearest linear bicubic"),
        ("min_filter", "nearest linear bicubic"),
        ("mip_filter", "none nearest linear"),
        ("compare_func", "never less less_equal greater greater_equal equal not_equal always"),
        ("component", "x y z w"),
    ):
        yield f"enum class {space} {{ {', '.join(values.split())} }};"
    yield "template <typename... A> __generic int& __level(A...);"
    yield "struct level { level(float) {} }; struct bias { bias(float) {} };"
    yield "}"


__all__ = [
    "HALF",
    "atomics",
    "bfloat_vectors",
    "bool_vectors",
    "group_functions",
    "integer_functions",
    "math_functions",
    "matrix_names",
    "packed_vectors",
    "simdgroup_matrices",
    "textures",
    "vector_types",
]
