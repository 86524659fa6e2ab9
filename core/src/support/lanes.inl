// Vectors of four doubles, four 64-bit and sixteen 16-bit integers; a part of kernels.inl, inside its namespace. GCC
// and Clang have a notation for them. Other compilers, and builds with PF_PLAIN_LANES, use loops over the same lanes in
// the same order, which give the same bits. A comparison gives -1 in the lanes where it is true and 0 in the others.
#if defined(PF_VECTOR_NOTATION)

using Lanes = double __attribute__((vector_size(32)));
using Mask = long long __attribute__((vector_size(32)));
using Keys = std::int16_t __attribute__((vector_size(32)));

inline Lanes choose(Mask mask, Lanes a, Lanes b) { return mask ? a : b; }
inline Mask choose(Mask mask, Mask a, Mask b) { return mask ? a : b; }

#else

template <class T>
struct Vector {
  static constexpr int kCount = 32 / sizeof(T);
  T lane[kCount];
  T& operator[](int i) { return lane[i]; }
  const T& operator[](int i) const { return lane[i]; }
};

using Lanes = Vector<double>;
using Mask = Vector<long long>;
using Keys = Vector<std::int16_t>;

inline Mask mask_of(const Lanes&) { return {}; }
inline Mask mask_of(const Mask&) { return {}; }
inline Keys mask_of(const Keys&) { return {}; }

#define PF_LANEWISE(op)                                                              \
  template <class T>                                                                 \
  inline Vector<T> operator op(Vector<T> a, const Vector<T>& b) {                    \
    for (int i = 0; i < Vector<T>::kCount; ++i) a[i] = static_cast<T>(a[i] op b[i]); \
    return a;                                                                        \
  }
PF_LANEWISE(+)
PF_LANEWISE(-)
PF_LANEWISE(*)
PF_LANEWISE(&)
PF_LANEWISE(|)
#undef PF_LANEWISE

#define PF_COMPARISON(op)                                                        \
  template <class T>                                                             \
  inline auto operator op(const Vector<T>& a, const Vector<T>& b) {              \
    auto mask = mask_of(a);                                                      \
    for (int i = 0; i < Vector<T>::kCount; ++i) mask[i] = a[i] op b[i] ? -1 : 0; \
    return mask;                                                                 \
  }
PF_COMPARISON(<)
PF_COMPARISON(<=)
PF_COMPARISON(>)
PF_COMPARISON(==)
#undef PF_COMPARISON

template <class T>
inline Vector<T> operator-(const Vector<T>& a) {
  return Vector<T>{} - a;
}
template <class T>
inline Vector<T> operator<<(Vector<T> a, int places) {
  for (int i = 0; i < Vector<T>::kCount; ++i) a[i] = static_cast<T>(a[i] << places);
  return a;
}
template <class T>
inline Vector<T>& operator+=(Vector<T>& a, const Vector<T>& b) {
  return a = a + b;
}
template <class T>
inline Vector<T>& operator-=(Vector<T>& a, const Vector<T>& b) {
  return a = a - b;
}
template <class T>
inline Vector<T>& operator&=(Vector<T>& a, const Vector<T>& b) {
  return a = a & b;
}
template <class T>
inline Vector<T> choose(const Mask& mask, const Vector<T>& a, Vector<T> b) {
  for (int i = 0; i < Vector<T>::kCount; ++i)
    if (mask[i]) b[i] = a[i];
  return b;
}

#endif
