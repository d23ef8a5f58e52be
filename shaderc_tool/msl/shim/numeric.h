// numeric_limits, and what atomics share.

namespace metal {

__shim bool __same_bits(int a, int b) { return a == b; }
__shim bool __same_bits(uint a, uint b) { return a == b; }
__shim bool __same_bits(float a, float b) { return __builtin_astype(a, uint) == __builtin_astype(b, uint); }

template <typename T> struct numeric_limits;
#define __limits_of_integer(T, MIN, MAX, DIGITS)                                \
  template <> struct numeric_limits<T> {                                        \
    static constexpr __constant bool is_specialized = true;                     \
    static constexpr __constant bool is_integer = true;                         \
    static constexpr __constant bool is_signed = (T)(-1) < (T)0;                \
    static constexpr __constant int digits = DIGITS;                            \
    static constexpr T min() { return MIN; }                                    \
    static constexpr T max() { return MAX; }                                    \
    static constexpr T lowest() { return MIN; }                                 \
  };
__limits_of_integer(bool, false, true, 1)
__limits_of_integer(char, -128, 127, 7)
__limits_of_integer(uchar, 0, 255, 8)
__limits_of_integer(short, -32768, 32767, 15)
__limits_of_integer(ushort, 0, 65535, 16)
__limits_of_integer(int, -2147483647 - 1, 2147483647, 31)
__limits_of_integer(uint, 0, 4294967295u, 32)
__limits_of_integer(long, -9223372036854775807l - 1, 9223372036854775807l, 63)
__limits_of_integer(ulong, 0, 18446744073709551615ul, 64)
#undef __limits_of_integer

template <> struct numeric_limits<float> {
  static constexpr __constant bool is_specialized = true;
  static constexpr __constant bool is_integer = false;
  static constexpr __constant bool is_signed = true;
  static constexpr __constant int digits = 24;
  static constexpr float min() { return 1.17549435e-38f; }
  static constexpr float max() { return 3.40282347e+38f; }
  static constexpr float lowest() { return -3.40282347e+38f; }
  static constexpr float epsilon() { return 1.19209290e-7f; }
  static constexpr float denorm_min() { return 1.40129846e-45f; }
  static constexpr float infinity() { return __builtin_huge_valf(); }
  static constexpr float quiet_NaN() { return __builtin_nanf(""); }
};
template <> struct numeric_limits<half> {
  static constexpr __constant bool is_specialized = true;
  static constexpr __constant bool is_integer = false;
  static constexpr __constant bool is_signed = true;
  static constexpr __constant int digits = 11;
  static constexpr half min() { return 6.103515625e-5h; }
  static constexpr half max() { return 65504.0h; }
  static constexpr half lowest() { return -65504.0h; }
  static constexpr half epsilon() { return 9.765625e-4h; }
  static constexpr half infinity() { return (half)__builtin_huge_valf(); }
  static constexpr half quiet_NaN() { return (half)__builtin_nanf(""); }
};
template <> struct numeric_limits<bfloat> {
  static constexpr __constant bool is_specialized = true;
  static constexpr __constant bool is_integer = false;
  static constexpr __constant bool is_signed = true;
  static constexpr bfloat min() { return bfloat(1.17549435e-38f); }
  static constexpr bfloat max() { return bfloat::__of(0x7f7f); }
  static constexpr bfloat lowest() { return bfloat::__of(0xff7f); }
  static constexpr bfloat infinity() { return bfloat::__of(0x7f80); }
};

}  // namespace metal
