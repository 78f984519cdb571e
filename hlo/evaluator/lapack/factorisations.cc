#include <algorithm>

#include "base/status_macros.h"
#include "hlo/evaluator/lapack/routines.h"

namespace smelt::hlo::lapack {
namespace {

constexpr PrimitiveType kInteger = PrimitiveType::kS32;

}  // namespace

template <typename T>
absl::Status Potrf(LapackJob& job) {
  SMELT_RETURN_IF_ERROR(job.ExpectSquare());
  const int n = job.rows();
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {n, n}));
  SMELT_RETURN_IF_ERROR(job.ExpectResults({{TypeOf<T>(), {n, n}}, {kInteger, {}}}));
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<void(const char*, const int*, T*, const int*, int*, size_t)>()));
  const char triangle = static_cast<char>(job.Option("uplo", 'L'));
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    std::vector<T> a = job.Read<T>(0, m, n, n);
    int info = 0;
    run(&triangle, &n, a.data(), &n, &info, 1);
    job.Write(0, m, a, n, n);
    job.WriteInteger(1, m, info);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Getrf(LapackJob& job) {
  const int rows = job.rows(), columns = job.columns(), pivots = std::min(rows, columns);
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {rows, columns}));
  SMELT_RETURN_IF_ERROR(job.ExpectResults({{TypeOf<T>(), {rows, columns}}, {kInteger, {pivots}}, {kInteger, {}}}));
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<void(const int*, const int*, T*, const int*, int*, int*)>()));
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    std::vector<T> a = job.Read<T>(0, m, rows, columns);
    std::vector<int> order(pivots);
    int info = 0;
    run(&rows, &columns, a.data(), &rows, order.data(), &info);
    job.Write(0, m, a, rows, columns);
    job.Write(1, m, order, pivots, 1);
    job.WriteInteger(2, m, info);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Geqrf(LapackJob& job) {
  const int rows = job.rows(), columns = job.columns(), reflections = std::min(rows, columns);
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {rows, columns}));
  SMELT_RETURN_IF_ERROR(job.ExpectResults({{TypeOf<T>(), {rows, columns}}, {TypeOf<T>(), {reflections}}}));
  SMELT_ASSIGN_OR_RETURN(const auto run,
                         (job.Find<void(const int*, const int*, T*, const int*, T*, T*, const int*, int*)>()));
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    std::vector<T> a = job.Read<T>(0, m, rows, columns), factors(reflections);
    int info = 0;
    WithWorkSpace<T>(
        [&](T* work, int length) { run(&rows, &columns, a.data(), &rows, factors.data(), work, &length, &info); });
    job.Write(0, m, a, rows, columns);
    job.Write(1, m, factors, reflections, 1);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Geqp3(LapackJob& job) {
  const int rows = job.rows(), columns = job.columns(), reflections = std::min(rows, columns);
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {rows, columns}));
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(1, kInteger, {columns}));
  SMELT_RETURN_IF_ERROR(
      job.ExpectResults({{TypeOf<T>(), {rows, columns}}, {kInteger, {columns}}, {TypeOf<T>(), {reflections}}}));
  using Run = void(const int*, const int*, T*, const int*, int*, T*, T*, const int*, int*);
  using RunComplex = void(const int*, const int*, T*, const int*, int*, T*, T*, const int*, Real<T>*, int*);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<std::conditional_t<kIsComplex<T>, RunComplex, Run>>()));
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    std::vector<T> a = job.Read<T>(0, m, rows, columns), factors(reflections);
    std::vector<int> order = job.Read<int>(1, m, columns, 1);
    std::vector<Real<T>> reals(2 * static_cast<size_t>(columns));
    int info = 0;
    const auto call = [&](T* work, int length) {
      if constexpr (kIsComplex<T>) {
        run(&rows, &columns, a.data(), &rows, order.data(), factors.data(), work, &length, reals.data(), &info);
      } else {
        run(&rows, &columns, a.data(), &rows, order.data(), factors.data(), work, &length, &info);
      }
    };
    WithWorkSpace<T>(call);
    job.Write(0, m, a, rows, columns);
    job.Write(1, m, order, columns, 1);
    job.Write(2, m, factors, reflections, 1);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Orgqr(LapackJob& job) {
  const int rows = job.rows(), columns = job.columns();
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {rows, columns}));
  SMELT_RETURN_IF_ERROR(job.ExpectOperands(2));
  const std::vector<int64_t> factor_dimensions = job.Dimensions(1);
  if (factor_dimensions.size() != 1 || factor_dimensions[0] > columns || columns > rows)
    return absl::InvalidArgumentError("LAPACK's " + job.routine() +
                                      " wants at least as many rows as columns, and as columns as reflections");
  const int reflections = static_cast<int>(factor_dimensions[0]);
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(1, TypeOf<T>(), factor_dimensions));
  SMELT_RETURN_IF_ERROR(job.ExpectResults({{TypeOf<T>(), {rows, columns}}}));
  using Run = void(const int*, const int*, const int*, T*, const int*, const T*, T*, const int*, int*);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<Run>()));
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    std::vector<T> a = job.Read<T>(0, m, rows, columns);
    const std::vector<T> factors = job.Read<T>(1, m, reflections, 1);
    int info = 0;
    WithWorkSpace<T>([&](T* work, int length) {
      run(&rows, &columns, &reflections, a.data(), &rows, factors.data(), work, &length, &info);
    });
    job.Write(0, m, a, rows, columns);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Ormqr(LapackJob& job) {
  const int order = job.rows(), columns = job.columns();
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {order, columns}));
  SMELT_RETURN_IF_ERROR(job.ExpectOperands(3));
  const std::vector<int64_t> factor_dimensions = job.Dimensions(1), product = job.Dimensions(2);
  const bool left = job.Option("left", 1) != 0;
  if (factor_dimensions.size() != 1 || factor_dimensions[0] > std::min(order, columns) || product.size() != 2 ||
      product[left ? 0 : 1] != order)
    return absl::InvalidArgumentError("LAPACK's " + job.routine() +
                                      " wants no more reflections than the matrix has rows or columns, and a product "
                                      "with as many " +
                                      (left ? "rows" : "columns") + " as it has rows");
  const int reflections = static_cast<int>(factor_dimensions[0]);
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(1, TypeOf<T>(), factor_dimensions));
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(2, TypeOf<T>(), product));
  SMELT_RETURN_IF_ERROR(job.ExpectResults({{TypeOf<T>(), product}}));
  using Run = void(const char*, const char*, const int*, const int*, const int*, const T*, const int*, const T*, T*,
                   const int*, T*, const int*, int*, size_t, size_t);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<Run>()));
  const char side = left ? 'L' : 'R', transpose = job.Option("transpose", 0) == 0 ? 'N' : kIsComplex<T> ? 'C' : 'T';
  const int rows = static_cast<int>(product[0]), width = static_cast<int>(product[1]);
  for (int64_t m = 0; m < job.matrices() && rows > 0 && width > 0; ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    const std::vector<T> a = job.Read<T>(0, m, order, columns), factors = job.Read<T>(1, m, reflections, 1);
    std::vector<T> c = job.Read<T>(2, m, rows, width);
    int info = 0;
    WithWorkSpace<T>([&](T* work, int length) {
      run(&side, &transpose, &rows, &width, &reflections, a.data(), &order, factors.data(), c.data(), &rows, work,
          &length, &info, 1, 1);
    });
    job.Write(0, m, c, rows, width);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Trsm(LapackJob& job) {
  SMELT_RETURN_IF_ERROR(job.ExpectSquare());
  const int n = job.rows();
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {n, n}));
  const char side = static_cast<char>(job.Option("side", 'L')), triangle = static_cast<char>(job.Option("uplo", 'L')),
             transpose = static_cast<char>(job.Option("trans_x", 'N')),
             diagonal = static_cast<char>(job.Option("diag", 'N'));
  SMELT_RETURN_IF_ERROR(job.ExpectOperands(2));
  const std::vector<int64_t> sides = job.Dimensions(1);
  if (sides.size() != 2 || sides[side == 'L' ? 0 : 1] != n)
    return absl::InvalidArgumentError("LAPACK's " + job.routine() + ": the matrices do not fit");
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(1, TypeOf<T>(), sides));
  SMELT_RETURN_IF_ERROR(job.ExpectResults({{TypeOf<T>(), sides}}));
  const int rows = static_cast<int>(sides[0]), columns = static_cast<int>(sides[1]);
  using Run = void(const char*, const char*, const char*, const char*, const int*, const int*, const T*, const T*,
                   const int*, T*, const int*, size_t, size_t, size_t, size_t);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<Run>()));
  const T one = 1;
  for (int64_t m = 0; m < job.matrices() && rows > 0; ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    const std::vector<T> a = job.Read<T>(0, m, n, n);
    std::vector<T> b = job.Read<T>(1, m, rows, columns);
    run(&side, &triangle, &transpose, &diagonal, &rows, &columns, &one, a.data(), &n, b.data(), &rows, 1, 1, 1, 1);
    job.Write(0, m, b, rows, columns);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Gehrd(LapackJob& job) {
  SMELT_RETURN_IF_ERROR(job.ExpectSquare());
  const int n = job.rows(), factors = std::max(n - 1, 0);
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {n, n}));
  SMELT_RETURN_IF_ERROR(job.ExpectResults({{TypeOf<T>(), {n, n}}, {TypeOf<T>(), {factors}}, {kInteger, {}}}));
  const int low = job.Option("low", 1), high = job.Option("high", n);
  if (low < 1 || high > n || (low > high && n > 0))
    return absl::InvalidArgumentError("LAPACK's " + job.routine() + ": low and high are outside the matrix");
  using Run = void(const int*, const int*, const int*, T*, const int*, T*, T*, const int*, int*);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<Run>()));
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    std::vector<T> a = job.Read<T>(0, m, n, n), taus(std::max(factors, 1));
    int info = 0;
    WithWorkSpace<T>(
        [&](T* work, int length) { run(&n, &low, &high, a.data(), &n, taus.data(), work, &length, &info); });
    job.Write(0, m, a, n, n);
    job.Write(1, m, taus, factors, 1);
    job.WriteInteger(2, m, info);
  }
  return absl::OkStatus();
}

template <typename T>
absl::Status Sytrd(LapackJob& job) {
  SMELT_RETURN_IF_ERROR(job.ExpectSquare());
  const int n = job.rows(), off = std::max(n - 1, 0);
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(0, TypeOf<T>(), {n, n}));
  SMELT_RETURN_IF_ERROR(job.ExpectResults({{TypeOf<T>(), {n, n}},
                                           {TypeOf<Real<T>>(), {n}},
                                           {TypeOf<Real<T>>(), {off}},
                                           {TypeOf<T>(), {off}},
                                           {kInteger, {}}}));
  const char triangle = static_cast<char>(job.Option("uplo", 'L'));
  using Run = void(const char*, const int*, T*, const int*, Real<T>*, Real<T>*, T*, T*, const int*, int*, size_t);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<Run>()));
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    std::vector<T> a = job.Read<T>(0, m, n, n), taus(std::max(off, 1));
    std::vector<Real<T>> diagonal(n), beside(std::max(off, 1));
    int info = 0;
    WithWorkSpace<T>([&](T* work, int length) {
      run(&triangle, &n, a.data(), &n, diagonal.data(), beside.data(), taus.data(), work, &length, &info, 1);
    });
    job.Write(0, m, a, n, n);
    job.Write(1, m, diagonal, n, 1);
    job.Write(2, m, beside, off, 1);
    job.Write(3, m, taus, off, 1);
    job.WriteInteger(4, m, info);
  }
  return absl::OkStatus();
}

// The first element of the lower diagonal and the last of the upper one are not part of the system.
template <typename T>
absl::Status Gtsv(LapackJob& job) {
  const int n = job.rows();
  for (size_t operand = 0; operand < 3; ++operand) SMELT_RETURN_IF_ERROR(job.ExpectOperand(operand, TypeOf<T>(), {n}));
  SMELT_RETURN_IF_ERROR(job.ExpectOperands(4));
  const std::vector<int64_t> sides = job.Dimensions(3);
  if (sides.size() != 2 || sides[0] != n)
    return absl::InvalidArgumentError("LAPACK's " + job.routine() + ": the right sides do not fit");
  SMELT_RETURN_IF_ERROR(job.ExpectOperand(3, TypeOf<T>(), sides));
  SMELT_RETURN_IF_ERROR(job.ExpectResults(
      {{TypeOf<T>(), {n}}, {TypeOf<T>(), {n}}, {TypeOf<T>(), {n}}, {TypeOf<T>(), sides}, {kInteger, {}}}));
  const int columns = static_cast<int>(sides[1]);
  SMELT_ASSIGN_OR_RETURN(const auto run, (job.Find<void(const int*, const int*, T*, T*, T*, T*, const int*, int*)>()));
  for (int64_t m = 0; m < job.matrices(); ++m) {
    SMELT_RETURN_IF_ERROR(job.CheckLimits());
    std::vector<T> lower = job.Read<T>(0, m, n, 1), diagonal = job.Read<T>(1, m, n, 1), upper = job.Read<T>(2, m, n, 1),
                   b = job.Read<T>(3, m, n, columns);
    int info = 0;
    run(&n, &columns, lower.data() + 1, diagonal.data(), upper.data(), b.data(), &n, &info);
    job.Write(0, m, lower, n, 1);
    job.Write(1, m, diagonal, n, 1);
    job.Write(2, m, upper, n, 1);
    job.Write(3, m, b, n, columns);
    job.WriteInteger(4, m, info);
  }
  return absl::OkStatus();
}

#define SMELT_FOR_TYPE(T)                     \
  template absl::Status Potrf<T>(LapackJob&); \
  template absl::Status Getrf<T>(LapackJob&); \
  template absl::Status Geqrf<T>(LapackJob&); \
  template absl::Status Geqp3<T>(LapackJob&); \
  template absl::Status Orgqr<T>(LapackJob&); \
  template absl::Status Ormqr<T>(LapackJob&); \
  template absl::Status Trsm<T>(LapackJob&);  \
  template absl::Status Gehrd<T>(LapackJob&); \
  template absl::Status Sytrd<T>(LapackJob&); \
  template absl::Status Gtsv<T>(LapackJob&);
SMELT_FOR_TYPE(float)
SMELT_FOR_TYPE(double)
SMELT_FOR_TYPE(std::complex<float>)
SMELT_FOR_TYPE(std::complex<double>)
#undef SMELT_FOR_TYPE

}  // namespace smelt::hlo::lapack
