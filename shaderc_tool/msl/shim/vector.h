// Conversions that the rewriter writes for `float4(a, b)` and `(half4)x`, and the vectors that are classes here:
// bool vectors (no native form in this mode), packed vectors and bfloat.

namespace metal {

template <typename T, typename A> struct __conv {
  static constexpr __shim T to(A a) { return (T)a; }
};
template <typename S, int N, typename U>
struct __conv<S __attribute__((ext_vector_type(N))), U __attribute__((ext_vector_type(N)))> {
  static constexpr __shim vec<S, N> to(vec<U, N> a) { return __builtin_convertvector(a, vec<S, N>); }
};
template <typename S, int N> struct __conv<S __attribute__((ext_vector_type(N))), S __attribute__((ext_vector_type(N)))> {
  static constexpr __shim vec<S, N> to(vec<S, N> a) { return a; }
};

// (T)x for any T; `x` keeps its address space when it is a pointer
template <typename T, typename A> constexpr __shim T __cast(A a) { return __conv<T, A>::to(a); }

// A scalar beside a vector takes the element type of the vector, whichever of the two is wider.
template <typename V, typename A> struct __beside {
  static constexpr __shim A to(A a) { return a; }
};
template <typename S, int N> struct __beside<S __attribute__((ext_vector_type(N))), float> {
  static constexpr __shim S to(float a) { return (S)a; }
};
template <typename S, int N> struct __beside<S __attribute__((ext_vector_type(N))), int> {
  static constexpr __shim S to(int a) { return (S)a; }
};
template <typename S, int N> struct __beside<S __attribute__((ext_vector_type(N))), uint> {
  static constexpr __shim S to(uint a) { return (S)a; }
};
template <typename S, int N> struct __beside<S __attribute__((ext_vector_type(N))), long> {
  static constexpr __shim S to(long a) { return (S)a; }
};
template <typename S, int N> struct __beside<S __attribute__((ext_vector_type(N))), ulong> {
  static constexpr __shim S to(ulong a) { return (S)a; }
};
template <typename V, typename A> constexpr __shim auto __like(A a) {
  return __beside<remove_cv_t<remove_addrspace_t<remove_reference_t<V>>>, A>::to(a);
}

template <typename A> struct __size_of_arg { enum { value = __scalar_of<A>::size }; };

template <typename S, typename A> struct __part {
  static constexpr __shim S to(A a) { return (S)a; }
};
template <typename S, typename U, int M> struct __part<S, U __attribute__((ext_vector_type(M)))> {
  static constexpr __shim vec<S, M> to(vec<U, M> a) { return __builtin_convertvector(a, vec<S, M>); }
};

template <typename T> struct __ctor {
  template <typename... A> static constexpr __shim T make(A... a) { return T(a...); }
};
template <typename S, int N> struct __ctor<S __attribute__((ext_vector_type(N)))> {
  typedef vec<S, N> T;
  static constexpr __shim T make() { return (T)(S)0; }
  template <typename A> static constexpr __shim T make(A a) {
    static_assert(!__scalar_of<A>::vector || __scalar_of<A>::size == N,
                  "MSL: a vector is built from another one of a different number of components");
    return __conv<T, A>::to(a);
  }
  template <typename... A> static constexpr __shim void check() {
    static_assert((0 + ... + __size_of_arg<A>::value) == N,
                  "MSL: the number of components given is not the number of components of the vector");
  }
  template <typename A, typename B> static constexpr __shim T make(A a, B b) {
    check<A, B>();
    T r = {__part<S, A>::to(a), __part<S, B>::to(b)};
    return r;
  }
  template <typename A, typename B, typename C> static constexpr __shim T make(A a, B b, C c) {
    check<A, B, C>();
    T r = {__part<S, A>::to(a), __part<S, B>::to(b), __part<S, C>::to(c)};
    return r;
  }
  template <typename A, typename B, typename C, typename D> static constexpr __shim T make(A a, B b, C c, D d) {
    check<A, B, C, D>();
    T r = {__part<S, A>::to(a), __part<S, B>::to(b), __part<S, C>::to(c), __part<S, D>::to(d)};
    return r;
  }
};
template <typename T, typename... A> constexpr __shim T __make(A... a) { return __ctor<T>::make(a...); }

// A braced argument: it becomes what the parameter is.
template <typename... A> struct __braces;
template <> struct __braces<> {
  template <typename T> constexpr __shim operator T() const { return T{}; }
};
template <typename A> struct __braces<A> {
  A a;
  template <typename T> constexpr __shim operator T() const { return T{a}; }
};
template <typename A, typename B> struct __braces<A, B> {
  A a;
  B b;
  template <typename T> constexpr __shim operator T() const { return T{a, b}; }
};
template <typename A, typename B, typename C> struct __braces<A, B, C> {
  A a;
  B b;
  C c;
  template <typename T> constexpr __shim operator T() const { return T{a, b, c}; }
};
template <typename A, typename B, typename C, typename D> struct __braces<A, B, C, D> {
  A a;
  B b;
  C c;
  D d;
  template <typename T> constexpr __shim operator T() const { return T{a, b, c, d}; }
};
template <typename... A> constexpr __shim __braces<A...> __list(A... a) { return __braces<A...>{a...}; }

template <typename T, typename U> struct __bits {
  static __shim T of(U u) {
    static_assert(sizeof(T) == sizeof(U), "MSL: as_type needs two types of the same size");
    return __builtin_astype(u, T);
  }
};
template <typename T, typename U> __shim T as_type(U u) { return __bits<T, U>::of(u); }

// A program-scope constant, seen as every other `constant` object is seen.
template <typename T> __shim constexpr __k2 T& __at(const __constant T& x) {
  return *(__k2 T*)(ulong)&x;
}
template <typename T> __shim constexpr __generic T& __at(__generic T& x) { return x; }
template <typename T> __shim constexpr __private T& __at(__private T& x) { return x; }
template <typename T> __shim constexpr __local T& __at(__local T& x) { return x; }
template <typename T> __shim constexpr __global T& __at(__global T& x) { return x; }
template <typename T> __shim constexpr __k2 T& __at(__k2 T& x) { return x; }

// A temporary, for a parameter that is a `thread const T &`.
template <typename T> __shim const __private T& __temporary(const __generic remove_const_t<T>& x) {
  return *(const __private T*)&x;
}

// Threadgroup variables: AIR emission turns each call into a variable of the threadgroup address space.
template <int Slot, typename T> __pure __local T* __threadgroup_slot();

struct bfloat;
template <> struct __floating<bfloat> : true_type {};

struct bfloat {
  ushort __b;
  bfloat() = default;
  template <typename T, typename = enable_if_t<is_scalar_v<T>>>
  constexpr __shim bfloat(T v) : __b(__round(__builtin_bit_cast(uint, (float)v))) {}
  constexpr __shim operator float() const { return __builtin_bit_cast(float, (uint)__b << 16); }
  static constexpr __shim ushort __round(uint u) {
    return (u & 0x7fffffffu) > 0x7f800000u ? (ushort)((u >> 16) | 64u)
                                           : (ushort)((u + 0x7fffu + ((u >> 16) & 1u)) >> 16);
  }
  static constexpr __shim bfloat __of(ushort bits) {
    bfloat b(0.0f);
    b.__b = bits;
    return b;
  }
  template <typename T> __shim __generic bfloat& operator+=(T o) { return *this = bfloat((float)*this + (float)o); }
  template <typename T> __shim __generic bfloat& operator-=(T o) { return *this = bfloat((float)*this - (float)o); }
  template <typename T> __shim __generic bfloat& operator*=(T o) { return *this = bfloat((float)*this * (float)o); }
  template <typename T> __shim __generic bfloat& operator/=(T o) { return *this = bfloat((float)*this / (float)o); }
};
template <typename A> struct __beside<bfloat, A> {
  static constexpr __shim bfloat to(A a) { return bfloat(a); }
};
// bfloat with bfloat or an integer gives bfloat, rounded at every step; with float or half it gives float
template <typename S> using __bfloat_with = conditional_t<__floating<S>::value, float, bfloat>;
#define __bfloat_operator(op)                                                                                   \
  constexpr __shim bfloat operator op(bfloat a, bfloat b) { return bfloat((float)a op (float)b); }                        \
  template <typename S, typename = enable_if_t<is_scalar<S>::value && !is_same<S, bfloat>::value>>            \
  constexpr __shim __bfloat_with<S> operator op(bfloat a, S b) { return __bfloat_with<S>((float)a op (float)b); }         \
  template <typename S, typename = enable_if_t<is_scalar<S>::value && !is_same<S, bfloat>::value>>            \
  constexpr __shim __bfloat_with<S> operator op(S a, bfloat b) { return __bfloat_with<S>((float)a op (float)b); }
__bfloat_operator(+)
__bfloat_operator(-)
__bfloat_operator(*)
__bfloat_operator(/)
#undef __bfloat_operator
constexpr __shim bfloat operator-(bfloat a) { return bfloat(-(float)a); }

template <> struct __bits<bfloat, ushort> {
  static __shim bfloat of(ushort u) { bfloat b; b.__b = u; return b; }
};
template <> struct __bits<ushort, bfloat> {
  static __shim ushort of(bfloat b) { return b.__b; }
};

}  // namespace metal

using metal::bfloat;
