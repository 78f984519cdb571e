#include <algorithm>
#include <limits>

#include "base/status_macros.h"
#include "hlo/evaluator/lapack/routines.h"

namespace smelt::hlo::lapack {
namespace {

constexpr PrimitiveType kInteger = PrimitiveType::kS32;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// Real routines give pairs of conjugate vectors as their real and imaginary parts, in columns side by side.
template <typename R>
std::vector<std::complex<R>> ComplexVectors(const std::vector<R>& packed, const std::vector<R>& imaginary, int n) {
  std::vector<std::complex<R>> vectors(packed.size());
  for (int j = 0; j < n; ++j) {
    const bool pair = imaginary[j] != 0 && j + 1 < n;
    for (int i = 0; i < n; ++i) {
      const R real = packed[j * n + i];
      if (!pair) {
        vectors[j * n + i] = real;
        continue;
      }
      const R other = packed[(j + 1) * n + i];
      vectors[j * n + i] = {real, other};
      vectors[(j + 1) * n + i] = {real, -other};
    }
    if (pair) ++j;
  }
  return vectors;
}

}  // namespace

template <typename T>
absl::Status Syevd(LapackJob& job) {
  SMELT_RETURN_IF_ERROR(job.ExpectSquare());
  const int n = job.rows();
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {n, n}));
  SMELT_RETURN_IF_ERROR(job.ExpectResults({{TypeOf<T>(), {n, n}}, {TypeOf<Real<T>>(), {n}}, {kInteger, {}}}));
  const char mode = static_cast<char>(job.Option("mode", 'V')), triangle = static_cast<char>(job.Option("uplo", 'L'));
  using Run = void(const char*, const char*, const int*, T*, const int*, Real<T>*, T*, const int*, int*, const int*,
                   int*, size_t, size_t);
  using RunComplex = void(const char*, const char*, const int*, T*, const int*, Real<T>*, T*, const int*, Real<T>*,
                          const int*, int*, const int*, int*, size_t, size_t);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<std::conditional_t<kIsComplex<T>, RunComplex, Run>>()));
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    std::vector<T> a = job.Read<T>(0, m, n, n);
    std::vector<Real<T>> values(n, static_cast<Real<T>>(kNaN));
    int info = kNotFinite;
    if (IsFinite(a)) {
      std::vector<Real<T>> real_work(1);
      std::vector<int> integer_work(1);
      int reals = -1, integers = -1;
      const auto call = [&](T* work, int length) {
        if constexpr (kIsComplex<T>) {
          run(&mode, &triangle, &n, a.data(), &n, values.data(), work, &length, real_work.data(), &reals,
              integer_work.data(), &integers, &info, 1, 1);
        } else {
          run(&mode, &triangle, &n, a.data(), &n, values.data(), work, &length, integer_work.data(), &integers, &info,
              1, 1);
        }
      };
      WithWorkSpace<T>([&](T* work, int length) {
        call(work, length);
        if (length >= 0) return;
        reals = std::max(static_cast<int>(real_work[0]), 1);
        integers = std::max(integer_work[0], 1);
        real_work.resize(reals);
        integer_work.resize(integers);
      });
    } else {
      std::fill(a.begin(), a.end(), T(static_cast<Real<T>>(kNaN)));
    }
    job.Write(0, m, a, n, n);
    job.Write(1, m, values, n, 1);
    job.WriteInteger(2, m, info);
  }
  return absl::OkStatus();
}

// Both routines for singular values have the same operands and results.
struct SingularShape {
  char mode;  // of the vectors: A, S or N
  int rows, columns, values, left, right;
};

template <typename T>
absl::StatusOr<SingularShape> ExpectSingular(const LapackJob& job) {
  const int rows = job.rows(), columns = job.columns(), values = std::min(rows, columns);
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {rows, columns}));
  const char mode = static_cast<char>(job.Option("mode", 'N'));
  if (mode != 'A' && mode != 'S' && mode != 'N')
    return absl::InvalidArgumentError("LAPACK's " + job.routine() + ": the mode is none of A, S and N");
  // Without vectors their arrays are there all the same, of the size of the thin ones or of the full ones.
  const bool thin = mode == 'S' || (mode == 'N' && job.ResultDimensions(2) == std::vector<int64_t>{rows, values});
  const int left = thin ? values : rows, right = thin ? values : columns;
  SMELT_RETURN_IF_ERROR(job.ExpectResults({{TypeOf<T>(), {rows, columns}},
                                           {TypeOf<Real<T>>(), {values}},
                                           {TypeOf<T>(), {rows, left}},
                                           {TypeOf<T>(), {right, columns}},
                                           {kInteger, {}}}));
  return SingularShape{mode, rows, columns, values, left, right};
}

template <typename T>
struct SingularResult {
  std::vector<T> a;
  std::vector<Real<T>> values;
  std::vector<T> u, vt;
  int info = kNotFinite;
};

// `run(result)` for each matrix; those that are not finite are answered with NaN.
template <typename T, typename Run>
absl::Status ForEachSingular(LapackJob& job, const SingularShape& shape, const Run& run) {
  const T nan = static_cast<Real<T>>(kNaN);
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    SingularResult<T> result{job.Read<T>(0, m, shape.rows, shape.columns),
                             std::vector<Real<T>>(shape.values, static_cast<Real<T>>(kNaN)),
                             std::vector<T>(static_cast<size_t>(shape.rows) * shape.left, nan),
                             std::vector<T>(static_cast<size_t>(shape.right) * shape.columns, nan)};
    if (IsFinite(result.a)) run(result);
    job.Write(0, m, result.a, shape.rows, shape.columns);
    job.Write(1, m, result.values, shape.values, 1);
    job.Write(2, m, result.u, shape.rows, shape.left);
    job.Write(3, m, result.vt, shape.right, shape.columns);
    job.WriteInteger(4, m, result.info);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Gesdd(LapackJob& job) {
  SMELT_ASSIGN_OR_RETURN(const SingularShape shape, ExpectSingular<T>(job));
  using Run = void(const char*, const int*, const int*, T*, const int*, Real<T>*, T*, const int*, T*, const int*, T*,
                   const int*, int*, int*, size_t);
  using RunComplex = void(const char*, const int*, const int*, T*, const int*, Real<T>*, T*, const int*, T*, const int*,
                          T*, const int*, Real<T>*, int*, int*, size_t);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<std::conditional_t<kIsComplex<T>, RunComplex, Run>>()));
  const auto& [mode, rows, columns, values, left, right] = shape;
  const size_t least = values, most = std::max(rows, columns);
  std::vector<int> integer_work(8 * least);
  std::vector<Real<T>> real_work(kIsComplex<T> ? least * std::max(5 * least + 7, 2 * most + 2 * least + 1) : 0);
  return ForEachSingular<T>(job, shape, [&](SingularResult<T>& result) {
    WithWorkSpace<T>([&](T* work, int length) {
      if constexpr (kIsComplex<T>) {
        run(&mode, &rows, &columns, result.a.data(), &rows, result.values.data(), result.u.data(), &rows,
            result.vt.data(), &right, work, &length, real_work.data(), integer_work.data(), &result.info, 1);
      } else {
        run(&mode, &rows, &columns, result.a.data(), &rows, result.values.data(), result.u.data(), &rows,
            result.vt.data(), &right, work, &length, integer_work.data(), &result.info, 1);
      }
    });
  });
}

template <typename T>
absl::Status Gesvd(LapackJob& job) {
  SMELT_ASSIGN_OR_RETURN(const SingularShape shape, ExpectSingular<T>(job));
  using Run = void(const char*, const char*, const int*, const int*, T*, const int*, Real<T>*, T*, const int*, T*,
                   const int*, T*, const int*, int*, size_t, size_t);
  using RunComplex = void(const char*, const char*, const int*, const int*, T*, const int*, Real<T>*, T*, const int*,
                          T*, const int*, T*, const int*, Real<T>*, int*, size_t, size_t);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<std::conditional_t<kIsComplex<T>, RunComplex, Run>>()));
  const auto& [mode, rows, columns, values, left, right] = shape;
  std::vector<Real<T>> real_work(kIsComplex<T> ? 5 * static_cast<size_t>(values) : 0);
  return ForEachSingular<T>(job, shape, [&](SingularResult<T>& result) {
    WithWorkSpace<T>([&](T* work, int length) {
      if constexpr (kIsComplex<T>) {
        run(&mode, &mode, &rows, &columns, result.a.data(), &rows, result.values.data(), result.u.data(), &rows,
            result.vt.data(), &right, work, &length, real_work.data(), &result.info, 1, 1);
      } else {
        run(&mode, &mode, &rows, &columns, result.a.data(), &rows, result.values.data(), result.u.data(), &rows,
            result.vt.data(), &right, work, &length, &result.info, 1, 1);
      }
    });
  });
}

template <typename T>
absl::Status Geev(LapackJob& job) {
  SMELT_RETURN_IF_ERROR(job.ExpectSquare());
  const int n = job.rows();
  using Complex = std::complex<Real<T>>;
  constexpr PrimitiveType kVector = TypeOf<Complex>();
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {n, n}));
  if constexpr (kIsComplex<T>) {
    SMELT_RETURN_IF_ERROR(job.ExpectResults({{kVector, {n}}, {kVector, {n, n}}, {kVector, {n, n}}, {kInteger, {}}}));
  } else {
    SMELT_RETURN_IF_ERROR(job.ExpectResults(
        {{TypeOf<T>(), {n}}, {TypeOf<T>(), {n}}, {kVector, {n, n}}, {kVector, {n, n}}, {kInteger, {}}}));
  }
  const char left = static_cast<char>(job.Option("compute_left", 'N')),
             right = static_cast<char>(job.Option("compute_right", 'V'));
  using Run = void(const char*, const char*, const int*, T*, const int*, T*, T*, T*, const int*, T*, const int*, T*,
                   const int*, int*, size_t, size_t);
  using RunComplex = void(const char*, const char*, const int*, T*, const int*, T*, T*, const int*, T*, const int*, T*,
                          const int*, Real<T>*, int*, size_t, size_t);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<std::conditional_t<kIsComplex<T>, RunComplex, Run>>()));
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    std::vector<T> a = job.Read<T>(0, m, n, n);
    const T nan = static_cast<Real<T>>(kNaN);
    std::vector<T> values(n, nan), imaginary(n, nan), vl(a.size(), nan), vr(a.size(), nan);
    int info = kNotFinite;
    if (IsFinite(a)) {
      std::vector<Real<T>> real_work(2 * static_cast<size_t>(n));
      const auto call = [&](T* work, int length) {
        if constexpr (kIsComplex<T>) {
          run(&left, &right, &n, a.data(), &n, values.data(), vl.data(), &n, vr.data(), &n, work, &length,
              real_work.data(), &info, 1, 1);
        } else {
          run(&left, &right, &n, a.data(), &n, values.data(), imaginary.data(), vl.data(), &n, vr.data(), &n, work,
              &length, &info, 1, 1);
        }
      };
      WithWorkSpace<T>(call);
    }
    job.Write(0, m, values, n, 1);
    if constexpr (kIsComplex<T>) {
      job.Write(1, m, vl, n, n);
      job.Write(2, m, vr, n, n);
      job.WriteInteger(3, m, info);
    } else {
      job.Write(1, m, imaginary, n, 1);
      job.Write(2, m, ComplexVectors(vl, imaginary, n), n, n);
      job.Write(3, m, ComplexVectors(vr, imaginary, n), n, n);
      job.WriteInteger(4, m, info);
    }
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Gees(LapackJob& job) {
  SMELT_RETURN_IF_ERROR(job.ExpectSquare());
  const int n = job.rows();
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {n, n}));
  std::vector<std::pair<PrimitiveType, std::vector<int64_t>>> results = {
      {TypeOf<T>(), {n, n}}, {TypeOf<T>(), {n, n}}, {TypeOf<T>(), {n}}};
  if (!kIsComplex<T>) results.push_back({TypeOf<T>(), {n}});
  results.push_back({kInteger, {}});
  results.push_back({kInteger, {}});
  SMELT_RETURN_IF_ERROR(job.ExpectResults(results));
  const char mode = static_cast<char>(job.Option("mode", 'V')), sort = static_cast<char>(job.Option("sort", 'N'));
  if (sort != 'N') return absl::UnimplementedError("LAPACK's " + job.routine() + " with sorted eigenvalues");
  using Run = void(const char*, const char*, const void*, const int*, T*, const int*, int*, T*, T*, T*, const int*, T*,
                   const int*, int*, int*, size_t, size_t);
  using RunComplex = void(const char*, const char*, const void*, const int*, T*, const int*, int*, T*, T*, const int*,
                          T*, const int*, Real<T>*, int*, int*, size_t, size_t);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<std::conditional_t<kIsComplex<T>, RunComplex, Run>>()));
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    std::vector<T> a = job.Read<T>(0, m, n, n);
    const T nan = static_cast<Real<T>>(kNaN);
    std::vector<T> values(n, nan), imaginary(n, nan), vectors(a.size(), nan);
    int info = kNotFinite, selected = 0;
    if (IsFinite(a)) {
      std::vector<Real<T>> real_work(n);
      std::vector<int> integer_work(n);
      const auto call = [&](T* work, int length) {
        if constexpr (kIsComplex<T>) {
          run(&mode, &sort, nullptr, &n, a.data(), &n, &selected, values.data(), vectors.data(), &n, work, &length,
              real_work.data(), integer_work.data(), &info, 1, 1);
        } else {
          run(&mode, &sort, nullptr, &n, a.data(), &n, &selected, values.data(), imaginary.data(), vectors.data(), &n,
              work, &length, integer_work.data(), &info, 1, 1);
        }
      };
      WithWorkSpace<T>(call);
    } else {
      std::fill(a.begin(), a.end(), nan);
    }
    size_t result = 0;
    job.Write(result++, m, a, n, n);
    job.Write(result++, m, vectors, n, n);
    job.Write(result++, m, values, n, 1);
    if (!kIsComplex<T>) job.Write(result++, m, imaginary, n, 1);
    job.WriteInteger(result++, m, selected);
    job.WriteInteger(result++, m, info);
  }
  return absl::OkStatus();
}

#define SMELT_FOR_TYPE(T)                     \
  template absl::Status Syevd<T>(LapackJob&); \
  template absl::Status Gesdd<T>(LapackJob&); \
  template absl::Status Gesvd<T>(LapackJob&); \
  template absl::Status Geev<T>(LapackJob&);  \
  template absl::Status Gees<T>(LapackJob&);
SMELT_FOR_TYPE(float)
SMELT_FOR_TYPE(double)
SMELT_FOR_TYPE(std::complex<float>)
SMELT_FOR_TYPE(std::complex<double>)
#undef SMELT_FOR_TYPE

}  // namespace smelt::hlo::lapack
