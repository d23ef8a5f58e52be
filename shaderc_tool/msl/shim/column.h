// The type of a matrix column: a native vector, or a class for bfloat.

namespace metal {
template <typename T, int R> struct __column { typedef vec<T, R> type; };
}  // namespace metal
