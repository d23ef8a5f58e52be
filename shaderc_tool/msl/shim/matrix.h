// Matrices: C columns of R rows, column-major.

namespace metal {

template <typename T, int C, int R> struct matrix {
  typedef typename __column<T, R>::type column;
  column columns[C];

  matrix() = default;
  explicit constexpr matrix(T d) {
    for (int c = 0; c < C; ++c)
      for (int r = 0; r < R; ++r) columns[c][r] = c == r ? d : (T)0;
  }
  template <typename... A, typename = enable_if_t<sizeof...(A) + 2 == C>>
  constexpr matrix(column a, column b, A... rest) : columns{a, b, rest...} {}
  template <typename... A, typename = enable_if_t<sizeof...(A) + 2 == C * R && (C * R > C)>, typename = void>
  constexpr matrix(T a, T b, A... rest) {
    T all[C * R] = {a, b, (T)rest...};
    for (int c = 0; c < C; ++c)
      for (int r = 0; r < R; ++r) columns[c][r] = all[c * R + r];
  }
  template <typename U> explicit constexpr matrix(matrix<U, C, R> o) {
    for (int c = 0; c < C; ++c) columns[c] = __cast<column>(o.columns[c]);
  }

  constexpr __generic column& operator[](int c) { return columns[c]; }
  constexpr const __generic column& operator[](int c) const { return columns[c]; }

  __generic matrix& operator+=(matrix o) { return *this = *this + o; }
  __generic matrix& operator-=(matrix o) { return *this = *this - o; }
  __generic matrix& operator*=(matrix<T, C, C> o) { return *this = *this * o; }
  __generic matrix& operator*=(T s) { return *this = *this * s; }
};

template <typename T, int C, int R> __shim matrix<T, C, R> operator+(matrix<T, C, R> a, matrix<T, C, R> b) {
  for (int c = 0; c < C; ++c) a.columns[c] += b.columns[c];
  return a;
}
template <typename T, int C, int R> __shim matrix<T, C, R> operator-(matrix<T, C, R> a, matrix<T, C, R> b) {
  for (int c = 0; c < C; ++c) a.columns[c] -= b.columns[c];
  return a;
}
template <typename T, int C, int R> __shim matrix<T, C, R> operator-(matrix<T, C, R> a) {
  for (int c = 0; c < C; ++c) a.columns[c] = -a.columns[c];
  return a;
}
template <typename T, int C, int R, typename S, typename = enable_if_t<is_scalar_v<S>>>
__shim matrix<T, C, R> operator*(matrix<T, C, R> a, S s) {
  for (int c = 0; c < C; ++c) a.columns[c] *= (T)s;
  return a;
}
template <typename T, int C, int R, typename S, typename = enable_if_t<is_scalar_v<S>>>
__shim matrix<T, C, R> operator*(S s, matrix<T, C, R> a) {
  return a * s;
}
template <typename T, int C, int R, typename S, typename = enable_if_t<is_scalar_v<S>>>
__shim matrix<T, C, R> operator/(matrix<T, C, R> a, S s) {
  for (int c = 0; c < C; ++c) a.columns[c] /= (T)s;
  return a;
}
template <typename T, int C, int R> __shim vec<T, R> operator*(matrix<T, C, R> m, vec<T, C> v) {
  vec<T, R> sum = m.columns[0] * v[0];
  for (int c = 1; c < C; ++c) sum += m.columns[c] * v[c];
  return sum;
}
template <typename T, int C, int R> __shim vec<T, C> operator*(vec<T, R> v, matrix<T, C, R> m) {
  vec<T, C> out;
  for (int c = 0; c < C; ++c) {
    T sum = v[0] * m.columns[c][0];
    for (int r = 1; r < R; ++r) sum += v[r] * m.columns[c][r];
    out[c] = sum;
  }
  return out;
}
template <typename T, int K, int R, int C> __shim matrix<T, C, R> operator*(matrix<T, K, R> a, matrix<T, C, K> b) {
  matrix<T, C, R> out;
  for (int c = 0; c < C; ++c) out.columns[c] = a * b.columns[c];
  return out;
}
template <typename T, int C, int R> __shim bool operator==(matrix<T, C, R> a, matrix<T, C, R> b) {
  bool same = true;
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r) same = same && a.columns[c][r] == b.columns[c][r];
  return same;
}
template <typename T, int C, int R> __shim bool operator!=(matrix<T, C, R> a, matrix<T, C, R> b) { return !(a == b); }

template <typename T, int C, int R> __shim matrix<T, R, C> transpose(matrix<T, C, R> m) {
  matrix<T, R, C> out;
  for (int c = 0; c < C; ++c)
    for (int r = 0; r < R; ++r) out.columns[r][c] = m.columns[c][r];
  return out;
}
template <typename T> __shim T determinant(matrix<T, 2, 2> m) {
  return m.columns[0][0] * m.columns[1][1] - m.columns[1][0] * m.columns[0][1];
}
template <typename T> __shim T determinant(matrix<T, 3, 3> m) {
  vec<T, 3> a = m.columns[0], b = m.columns[1], c = m.columns[2];
  return a[0] * (b[1] * c[2] - b[2] * c[1]) - b[0] * (a[1] * c[2] - a[2] * c[1]) + c[0] * (a[1] * b[2] - a[2] * b[1]);
}
template <typename T> __shim T determinant(matrix<T, 4, 4> m) {
  T sum = 0;
  for (int k = 0; k < 4; ++k) {
    matrix<T, 3, 3> minor;
    for (int c = 0, at = 0; c < 4; ++c) {
      if (c == k) continue;
      minor.columns[at++] = m.columns[c].yzw;
    }
    T term = m.columns[k][0] * determinant(minor);
    sum += k % 2 ? -term : term;
  }
  return sum;
}

}  // namespace metal
