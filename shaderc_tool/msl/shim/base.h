// Scalar types, address-space helpers and traits. Vector names are generated (generate.py).
// clang reads this as C++ for OpenCL 2021: half, the address spaces and ext_vector types are native there.

#pragma OPENCL EXTENSION cl_khr_fp16 : enable
#pragma OPENCL EXTENSION __cl_clang_function_pointers : enable
#pragma OPENCL EXTENSION __cl_clang_variadic_functions : enable

#define __k2 const __attribute__((address_space(2)))
#define __pure __attribute__((const, nothrow))
#define __shim inline __attribute__((always_inline))

typedef unsigned char uchar;
typedef unsigned short ushort;
typedef unsigned int uint;
typedef unsigned long ulong;
typedef char int8_t;
typedef unsigned char uint8_t;
typedef short int16_t;
typedef unsigned short uint16_t;
typedef int int32_t;
typedef unsigned int uint32_t;
typedef long int64_t;
typedef unsigned long uint64_t;
typedef unsigned long size_t;
typedef long ptrdiff_t;
typedef unsigned long uintptr_t;
typedef long intptr_t;
typedef decltype(nullptr) nullptr_t;

namespace metal {

template <typename T, int N> using vec = T __attribute__((ext_vector_type(N)));

template <bool B, typename T = void> struct enable_if {};
template <typename T> struct enable_if<true, T> { typedef T type; };
template <bool B, typename T = void> using enable_if_t = typename enable_if<B, T>::type;
template <bool B, typename T, typename F> struct conditional { typedef T type; };
template <typename T, typename F> struct conditional<false, T, F> { typedef F type; };
template <bool B, typename T, typename F> using conditional_t = typename conditional<B, T, F>::type;

template <typename T, T V> struct integral_constant {
  static constexpr __constant const T value = V;
  typedef T value_type;
  constexpr operator T() const { return V; }
  constexpr T operator()() const { return V; }
};
template <bool B> using bool_constant = integral_constant<bool, B>;
typedef bool_constant<true> true_type;
typedef bool_constant<false> false_type;

template <typename... B> struct _disjunction : bool_constant<(false || ... || B::value)> {};
template <typename... B> struct _conjunction : bool_constant<(true && ... && B::value)> {};

template <typename T> struct remove_reference { typedef T type; };
template <typename T> struct remove_reference<__private T&> { typedef T type; };
template <typename T> struct remove_reference<__global T&> { typedef T type; };
template <typename T> struct remove_reference<__local T&> { typedef T type; };
template <typename T> struct remove_reference<__generic T&> { typedef T type; };
template <typename T> using remove_reference_t = typename remove_reference<T>::type;
template <typename T> struct remove_const { typedef T type; };
template <typename T> struct remove_const<const T> { typedef T type; };
template <typename T> using remove_const_t = typename remove_const<T>::type;
template <typename T> struct remove_volatile { typedef T type; };
template <typename T> struct remove_volatile<volatile T> { typedef T type; };
template <typename T> using remove_volatile_t = typename remove_volatile<T>::type;
template <typename T> struct remove_cv { typedef remove_const_t<remove_volatile_t<T>> type; };
template <typename T> using remove_cv_t = typename remove_cv<T>::type;
template <typename T> struct remove_addrspace { typedef T type; };
template <typename T> struct remove_addrspace<__private T> { typedef T type; };
template <typename T> struct remove_addrspace<__global T> { typedef T type; };
template <typename T> struct remove_addrspace<__local T> { typedef T type; };
template <typename T> struct remove_addrspace<__attribute__((address_space(2))) T> { typedef T type; };
template <typename T> using remove_addrspace_t = typename remove_addrspace<T>::type;
template <typename T> struct remove_pointer { typedef T type; };
template <typename T> struct remove_pointer<__private T*> { typedef T type; };
template <typename T> struct remove_pointer<__global T*> { typedef T type; };
template <typename T> struct remove_pointer<__local T*> { typedef T type; };
template <typename T> struct remove_pointer<__k2 T*> { typedef const T type; };
template <typename T> using remove_pointer_t = typename remove_pointer<T>::type;
template <typename T> struct decay { typedef remove_cv_t<remove_addrspace_t<remove_reference_t<T>>> type; };
template <typename T> using decay_t = typename decay<T>::type;

template <typename T, typename U> struct is_same : false_type {};
template <typename T> struct is_same<T, T> : true_type {};
template <typename T, typename U> constexpr __constant bool is_same_v = __is_same(T, U);

template <typename T> struct __integral : false_type {};
template <> struct __integral<bool> : true_type {};
template <> struct __integral<char> : true_type {};
template <> struct __integral<signed char> : true_type {};
template <> struct __integral<uchar> : true_type {};
template <> struct __integral<short> : true_type {};
template <> struct __integral<ushort> : true_type {};
template <> struct __integral<int> : true_type {};
template <> struct __integral<uint> : true_type {};
template <> struct __integral<long> : true_type {};
template <> struct __integral<ulong> : true_type {};
template <typename T> struct __floating : false_type {};
template <> struct __floating<float> : true_type {};
template <> struct __floating<half> : true_type {};

// vectors count by their element, as the Metal specification says of its type traits
template <typename T> struct __scalar_of { typedef T type; enum { size = 1, vector = 0 }; };
template <typename T, int N> struct __scalar_of<T __attribute__((ext_vector_type(N)))> {
  typedef T type;
  enum { size = N, vector = 1 };
};
template <typename T> struct make_scalar { typedef typename __scalar_of<T>::type type; };
template <typename T> using make_scalar_t = typename make_scalar<T>::type;
template <typename T> struct vec_elements { static constexpr __constant int value = __scalar_of<T>::size; };
template <typename T> struct is_vector : bool_constant<__scalar_of<T>::vector> {};
template <typename T> constexpr __constant bool is_vector_v = __scalar_of<T>::vector;
template <typename T> struct is_scalar : bool_constant<__integral<T>::value || __floating<T>::value> {};
template <typename T> constexpr __constant bool is_scalar_v = is_scalar<T>::value;
template <typename T> struct is_integral : __integral<make_scalar_t<remove_cv_t<T>>> {};
template <typename T> constexpr __constant bool is_integral_v = is_integral<T>::value;
template <typename T> struct is_floating_point : __floating<make_scalar_t<remove_cv_t<T>>> {};
template <typename T> constexpr __constant bool is_floating_point_v = is_floating_point<T>::value;
template <typename T> struct is_arithmetic : bool_constant<is_integral<T>::value || is_floating_point<T>::value> {};
template <typename T> constexpr __constant bool is_arithmetic_v = is_arithmetic<T>::value;
template <typename T> struct __is_signed : bool_constant<(make_scalar_t<T>(-1) < make_scalar_t<T>(0))> {};
template <typename T> struct is_signed : __is_signed<remove_cv_t<T>> {};
template <typename T> constexpr __constant bool is_signed_v = is_signed<T>::value;
template <typename T> struct is_unsigned : bool_constant<!is_signed<T>::value> {};
template <typename T> constexpr __constant bool is_unsigned_v = is_unsigned<T>::value;
template <typename T> struct is_enum : bool_constant<__is_enum(T)> {};
template <typename T> struct is_class : bool_constant<__is_class(T)> {};
template <typename T> struct is_trivially_copyable : bool_constant<__is_trivially_copyable(T)> {};
template <typename T, typename U> struct is_convertible : bool_constant<__is_convertible_to(T, U)> {};
template <typename T, typename U> constexpr __constant bool is_convertible_v = __is_convertible_to(T, U);

template <typename T> struct make_unsigned { typedef T type; };
template <> struct make_unsigned<char> { typedef uchar type; };
template <> struct make_unsigned<short> { typedef ushort type; };
template <> struct make_unsigned<int> { typedef uint type; };
template <> struct make_unsigned<long> { typedef ulong type; };
template <typename T> using make_unsigned_t = typename make_unsigned<T>::type;
template <typename T> struct make_signed { typedef T type; };
template <> struct make_signed<uchar> { typedef char type; };
template <> struct make_signed<ushort> { typedef short type; };
template <> struct make_signed<uint> { typedef int type; };
template <> struct make_signed<ulong> { typedef long type; };
template <typename T> using make_signed_t = typename make_signed<T>::type;

template <int... I> struct __indices {};

template <typename T, size_t N> struct array {
  T __elems[N];
  constexpr __generic T& operator[](size_t i) { return __elems[i]; }
  constexpr const __generic T& operator[](size_t i) const { return __elems[i]; }
  constexpr size_t size() const { return N; }
};

}  // namespace metal
