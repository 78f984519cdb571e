// Random int8 layers as HLO: convolutions, also depthwise, products of matrices and batches of them, poolings,
// additions, each with what quantised programs do to sums, and with its arrays reshaped and transposed.
//
//   RandomLayers layers(/*seed=*/7, {.side = 12, .channels = 40});
//   layers.Add();
//   std::string text = layers.Finish();      // a module of one layer; of several, their tuple
#pragma once

#include <algorithm>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"

namespace smelt::bench {

struct LayerLimits {
  int64_t side = 12;      // of pictures, and rows of products over 4
  int64_t channels = 40;  // and depth of products
  int64_t images = 2;
  bool whole_blocks = false;  // most channels are multiples of 16, as networks have them
};

class RandomLayers {
 public:
  RandomLayers(uint64_t seed, LayerLimits limits) : random_(seed), limits_(limits) {}

  // One more layer of any kind.
  void Add() {
    switch (Draw(0, 9)) {
      case 0:
      case 1:
      case 2:
        return Convolution(/*depthwise=*/false);
      case 3:
        return Convolution(/*depthwise=*/true);
      case 4:
      case 5:
        return Product();
      case 6:
        return BatchOfProducts();
      case 7:
        return Pooling();
      case 8:
        return Maximum();
      default:
        return Addition();
    }
  }

  std::string Finish() {
    std::string text = "HloModule layers\n\n";
    for (const auto& [type, operation] : {std::pair{"s32", "add"}, {"s8", "maximum"}}) {
      absl::StrAppend(&text, operation, "_", type, " {\n  a = ", type, "[] parameter(0)\n  b = ", type,
                      "[] parameter(1)\n  ROOT c = ", type, "[] ", operation, "(a, b)\n}\n\n");
    }
    if (roots_.size() == 1)
      return absl::StrCat(text, "ENTRY main {\n", body_, "  ROOT y", roots_[0].shape, " copy(", roots_[0].name,
                          ")\n}\n");
    std::vector<std::string> shapes, names;
    for (const Root& root : roots_) {
      shapes.push_back(root.shape.substr(3));
      names.push_back(root.name);
    }
    return absl::StrCat(text, "ENTRY main {\n", body_, "  ROOT y = (", absl::StrJoin(shapes, ", "), ") tuple(",
                        absl::StrJoin(names, ", "), ")\n}\n");
  }

 private:
  using Dims = std::vector<int64_t>;
  struct Value {
    std::string name;
    Dims dims;
  };
  struct Root {
    std::string name, shape;  // " = s8[1,2]"
  };

  int64_t Draw(int64_t from, int64_t to) {
    return from + static_cast<int64_t>(random_() % static_cast<uint64_t>(to - from + 1));
  }
  bool Maybe() { return Draw(0, 1) == 1; }
  int64_t Channels() {
    if (limits_.whole_blocks && Draw(0, 4) > 0) return 16 * Draw(1, std::max<int64_t>(1, limits_.channels / 16));
    return Draw(1, limits_.channels);
  }

  static std::string Shape(const char* type, const Dims& dims) {
    return absl::StrCat(" = ", type, "[", absl::StrJoin(dims, ","), "]");
  }
  template <typename... Words>
  Value Put(const char* type, const Dims& dims, const Words&... words) {
    const Value value{absl::StrCat("v", next_++), dims};
    absl::StrAppend(&body_, "  ", value.name, Shape(type, dims), " ", words..., "\n");
    return value;
  }
  Value Parameter(const char* type, const Dims& dims) { return Put(type, dims, "parameter(", parameters_++, ")"); }
  Value Everywhere(const char* type, const Dims& dims, int64_t number) {
    const Value scalar = Put(type, {}, "constant(", number, ")");
    return Put(type, dims, "broadcast(", scalar.name, "), dimensions={}");
  }

  // MULSHIFT by one multiplier, or by one for each channel.
  Value Rescaled(const Value& x, int64_t channel_dim) {
    const int64_t shift = Draw(24, 34);
    const Value wide = Put("s64", x.dims, "convert(", x.name, ")");
    Value factors;
    if (channel_dim >= 0 && Maybe()) {
      const Dims channels = {x.dims[static_cast<size_t>(channel_dim)]};
      factors = Put("s64", x.dims, "broadcast(", Parameter("s64", channels).name, "), dimensions={", channel_dim, "}");
    } else {
      factors = Everywhere("s64", x.dims, Draw(1 << 20, (1 << 23) - 1));
    }
    const Value product = Put("s64", x.dims, "multiply(", wide.name, ", ", factors.name, ")");
    const Value half = Everywhere("s64", x.dims, int64_t{1} << (shift - 1));
    const Value rounded = Put("s64", x.dims, "add(", product.name, ", ", half.name, ")");
    const Value shifts = Everywhere("s64", x.dims, shift);
    const Value shifted = Put("s64", x.dims, "shift-right-arithmetic(", rounded.name, ", ", shifts.name, ")");
    return Put("s32", x.dims, "convert(", shifted.name, ")");
  }

  // A transposition of dimensions that are not all one, or nothing.
  Value Moved(const Value& x, const char* type) {
    if (x.dims.size() < 3 || Maybe()) return x;
    std::vector<int64_t> order(x.dims.size());
    for (size_t d = 0; d < order.size(); ++d) order[d] = static_cast<int64_t>(d);
    std::shuffle(order.begin(), order.end(), random_);
    Dims dims;
    for (const int64_t d : order) dims.push_back(x.dims[static_cast<size_t>(d)]);
    return Put(type, dims, "transpose(", x.name, "), dimensions={", absl::StrJoin(order, ","), "}");
  }

  void End(const Value& x, const char* type) { roots_.push_back({x.name, Shape(type, x.dims)}); }

  // What follows sums: a bias, and their rescaling with a residual, clips and s8; or nothing.
  void Finish(Value sums, int64_t channel_dim, bool biased) {
    if (biased && Maybe()) {
      const Value b = Parameter("s32", {sums.dims[static_cast<size_t>(channel_dim)]});
      const Value bs = Put("s32", sums.dims, "broadcast(", b.name, "), dimensions={", channel_dim, "}");
      sums = Put("s32", sums.dims, "add(", sums.name, ", ", bs.name, ")");
    }
    if (Draw(0, 4) == 0) return End(sums, "s32");
    Value x = Rescaled(sums, channel_dim);
    x = Moved(x, "s32");
    if (Maybe()) {
      const Value other = Rescaled(Parameter("s8", x.dims), -1);
      x = Put("s32", x.dims, "add(", x.name, ", ", other.name, ")");
    }
    const Value low = Everywhere("s32", x.dims, Maybe() ? 0 : -128), high = Everywhere("s32", x.dims, Draw(60, 127));
    x = Put("s32", x.dims, "clamp(", low.name, ", ", x.name, ", ", high.name, ")");
    End(Moved(Put("s8", x.dims, "convert(", x.name, ")"), "s8"), nullptr);
  }
  void End(const Value& x, std::nullptr_t) { End(x, "s8"); }

  void Convolution(bool depthwise) {
    const bool first = Maybe();  // channels stand before the pixels
    const int64_t kernel_y = Draw(1, 3), kernel_x = Maybe() ? kernel_y : Draw(1, 3), stride = Draw(1, 2);
    const int64_t in = Channels(), out = depthwise ? in : Channels(), images = Draw(1, limits_.images);
    const int64_t height = Draw(kernel_y, std::max(kernel_y, limits_.side)),
                  width = Maybe() ? std::max(height, kernel_x) : Draw(kernel_x, std::max(kernel_x, limits_.side));
    const int64_t pad_y = Draw(0, kernel_y - 1), pad_x = Draw(0, kernel_x - 1);
    const auto dims = [&](int64_t channels, int64_t y, int64_t x) {
      return first ? Dims{images, channels, y, x} : Dims{images, y, x, channels};
    };
    const Value x = Parameter("s8", dims(in, height, width));
    const int64_t of_each = depthwise ? 1 : in;
    const Value w =
        Parameter("s8", first ? Dims{out, of_each, kernel_y, kernel_x} : Dims{kernel_y, kernel_x, of_each, out});
    const auto sums =
        Put("s32", dims(out, (height + 2 * pad_y - kernel_y) / stride + 1, (width + 2 * pad_x - kernel_x) / stride + 1),
            "convolution(", x.name, ", ", w.name, "), window={size=", kernel_y, "x", kernel_x, " stride=", stride, "x",
            stride, " pad=", pad_y, "_", pad_y, "x", pad_x, "_", pad_x, Draw(0, 5) == 0 ? " rhs_reversal=1x1" : "",
            "}, dim_labels=", first ? "bf01_oi01->bf01" : "b01f_01io->b01f",
            depthwise ? absl::StrCat(", feature_group_count=", in) : "");
    Finish(sums, first ? 1 : 3, true);
  }

  void Product() {
    const int64_t rows = Draw(1, 4 * limits_.side), depth = Channels(), heads = Draw(1, 3),
                  of_head = (Channels() + heads - 1) / heads;
    const Value x = Parameter("s8", {Draw(1, limits_.images), rows, depth});
    const Value w = Parameter("s8", {depth, heads, of_head});
    const Value sums = Put("s32", {x.dims[0], rows, heads, of_head}, "dot(", x.name, ", ", w.name,
                           "), lhs_contracting_dims={2}, rhs_contracting_dims={0}");
    const Value flat = Put("s32", {x.dims[0], rows, heads * of_head}, "reshape(", sums.name, ")");
    Finish(flat, 2, true);
  }

  void BatchOfProducts() {
    const int64_t images = Draw(1, limits_.images), heads = Draw(1, 3), rows = Draw(1, limits_.side),
                  columns = Draw(1, limits_.side), depth = Channels();
    const bool by_columns = Maybe();
    const Value q = Parameter("s8", {images, heads, rows, depth});
    const Value k =
        Parameter("s8", by_columns ? Dims{images, heads, columns, depth} : Dims{images, depth, heads, columns});
    const Value sums = Put("s32", {images, heads, rows, columns}, "dot(", q.name, ", ", k.name,
                           "), lhs_batch_dims={0,1}, ", "rhs_batch_dims={0,", by_columns ? 1 : 2,
                           "}, lhs_contracting_dims={3}, rhs_contracting_dims={", by_columns ? 3 : 1, "}");
    Finish(sums, -1, false);
  }

  // Pictures with a window over them; `fold` names the operation and the type.
  Value Windowed(const char* type, const char* fold, const Value& x, const Value& begin) {
    const bool first = Maybe();
    const int64_t size = Draw(1, 3), stride = Draw(1, 2), pad = Draw(0, size - 1);
    const size_t y = first ? 2 : 1;
    Dims dims = x.dims;
    std::string sizes, strides, pads;
    for (size_t d = 0; d < 4; ++d) {
      const bool moves = d == y || d == y + 1;
      const char* by = d == 0 ? "" : "x";
      absl::StrAppend(&sizes, by, moves ? size : 1);
      absl::StrAppend(&strides, by, moves ? stride : 1);
      absl::StrAppend(&pads, by, moves ? pad : 0, "_", moves ? pad : 0);
      if (moves) dims[d] = (dims[d] + 2 * pad - size) / stride + 1;
    }
    return Put(type, dims, "reduce-window(", x.name, ", ", begin.name, "), window={size=", sizes, " stride=", strides,
               " pad=", pads, "}, to_apply=", fold, "_", type);
  }
  Dims Picture() {
    return {Draw(1, limits_.images), Draw(3, limits_.side), Draw(3, limits_.side), std::max<int64_t>(3, Channels())};
  }

  void Pooling() {
    const Value x = Parameter("s8", Picture());
    const Value wide = Put("s32", x.dims, "convert(", x.name, ")"), zero = Put("s32", {}, "constant(0)");
    if (Maybe()) return Finish(Windowed("s32", "add", wide, zero), -1, false);
    const Value sums = Put("s32", {x.dims[0], x.dims[3]}, "reduce(", wide.name, ", ", zero.name,
                           "), dimensions={1,2}, to_apply=add_s32");
    Finish(sums, 1, false);
  }

  void Maximum() {
    const Value x = Parameter("s8", Picture()), least = Put("s8", {}, "constant(", Maybe() ? -128 : -50, ")");
    End(Windowed("s8", "maximum", x, least), nullptr);
  }

  void Addition() {
    const Value x = Rescaled(Parameter("s8", Picture()), -1), other = Rescaled(Parameter("s8", x.dims), -1);
    Value sum = Put("s32", x.dims, "add(", x.name, ", ", other.name, ")");
    const Value low = Everywhere("s32", x.dims, Maybe() ? 0 : -128), high = Everywhere("s32", x.dims, 127);
    sum = Put("s32", x.dims, "clamp(", low.name, ", ", sum.name, ", ", high.name, ")");
    End(Put("s8", sum.dims, "convert(", sum.name, ")"), nullptr);
  }

  std::mt19937_64 random_;
  const LayerLimits limits_;
  std::string body_;
  std::vector<Root> roots_;
  int64_t next_ = 0, parameters_ = 0;
};

}  // namespace smelt::bench
