// Times convolutions and products of bytes (signed times signed, sums of 32 bits) with oneDNN 2.6 to 3.x, for compare_layers.py, which compiles it
// against each version that it finds.
//
//   onednn_bytes SECONDS conv NAME SIZE INNER OUTER WINDOW STRIDE product NAME M N K ...
//
// Prints a JSON object a line: {"layer", "format", "impl", "median_ms"}. Convolutions pad like XLA's SAME, and have their weights repacked before
// the timing; products read plain matrices. A format that the library refuses is left out.
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using dnnl::memory;
using Tag = memory::format_tag;
constexpr auto kByte = memory::data_type::s8;
constexpr auto kSum = memory::data_type::s32;

class Rival {
 public:
  explicit Rival(double seconds) : seconds_(seconds), engine_(dnnl::engine::kind::cpu, 0), stream_(engine_) {}

  void Convolution(const std::string& name, int size, int inner, int outer, int window, int stride) {
    const int out = (size + stride - 1) / stride, pad = std::max((out - 1) * stride + window - size, 0);
    const memory::dims strides{stride, stride}, low{pad / 2, pad / 2}, high{pad - pad / 2, pad - pad / 2};
    for (const auto& [format, tag] : {std::pair{"nhwc", Tag::nhwc}, {"any", Tag::any}}) {
      try {
        const memory::desc source({1, inner, size, size}, kByte, tag), result({1, outer, out, out}, kSum, tag);
        const memory::desc any({outer, inner, window, window}, kByte, Tag::any);
        const auto kind = dnnl::prop_kind::forward_inference;
        const auto direct = dnnl::algorithm::convolution_direct;
#if DNNL_VERSION_MAJOR >= 3
        dnnl::convolution_forward::primitive_desc made(engine_, kind, direct, source, any, result, strides, low, high);
#else
        dnnl::convolution_forward::primitive_desc made({kind, direct, source, any, result, strides, low, high}, engine_);
#endif
        const memory weights = Repacked(memory::desc({outer, inner, window, window}, kByte, Tag::oihw), made.weights_desc());
        Time(name, format, made.impl_info_str(), dnnl::convolution_forward(made),
             {{DNNL_ARG_SRC, Filled(made.src_desc())}, {DNNL_ARG_WEIGHTS, weights}, {DNNL_ARG_DST, Filled(made.dst_desc())}});
      } catch (const dnnl::error&) {  // this layout only
      }
    }
  }

  void Product(const std::string& name, int m, int n, int k) {
    const memory::desc left({m, k}, kByte, Tag::ab), result({m, n}, kSum, Tag::ab), plain({k, n}, kByte, Tag::ab);
    for (const auto& [format, right] : {std::pair{"plain", plain}, {"packed", memory::desc({k, n}, kByte, Tag::any)}}) {
      try {
#if DNNL_VERSION_MAJOR >= 3
        dnnl::matmul::primitive_desc made(engine_, left, right, result);
#else
        dnnl::matmul::primitive_desc made({left, right, result}, engine_);
#endif
        Time(name, format, made.impl_info_str(), dnnl::matmul(made),
             {{DNNL_ARG_SRC, Filled(left)}, {DNNL_ARG_WEIGHTS, Repacked(plain, made.weights_desc())}, {DNNL_ARG_DST, Filled(result)}});
      } catch (const dnnl::error&) {  // this layout only
      }
    }
  }

 private:
  using Arguments = std::unordered_map<int, memory>;

  memory Filled(const memory::desc& desc) {
    memory filled(desc, engine_);
    auto* bytes = static_cast<int8_t*>(filled.get_data_handle());
    for (size_t i = 0; i < desc.get_size(); ++i) bytes[i] = static_cast<int8_t>(i * 2654435761u >> 13);
    return filled;
  }
  memory Repacked(const memory::desc& plain, const memory::desc& packed) {
    memory from = Filled(plain), to(packed, engine_);
    dnnl::reorder(from, to).execute(stream_, from, to);
    stream_.wait();
    return to;
  }
  void Time(const std::string& name, const char* format, const char* impl, const dnnl::primitive& primitive, const Arguments& arguments) {
    using Clock = std::chrono::steady_clock;
    const auto run = [&] {
      const auto start = Clock::now();
      primitive.execute(stream_, arguments);
      stream_.wait();
      return std::chrono::duration<double>(Clock::now() - start).count();
    };
    run();
    std::vector<double> times;
    for (double sum = 0; times.size() < 3 || sum < seconds_; sum += times.back()) times.push_back(run());
    std::nth_element(times.begin(), times.begin() + times.size() / 2, times.end());
    std::printf("{\"layer\": \"%s\", \"format\": \"%s\", \"impl\": \"%s\", \"median_ms\": %.6f}\n", name.c_str(), format, impl,
                times[times.size() / 2] * 1e3);
  }

  double seconds_;
  dnnl::engine engine_;
  dnnl::stream stream_;
};

}  // namespace

int main(int count, char** words) {
  if (count < 2) return std::fprintf(stderr, "usage: onednn_bytes SECONDS (conv NAME SIZE INNER OUTER WINDOW STRIDE | product NAME M N K)...\n"), 2;
  Rival rival(std::atof(words[1]));
  const auto number = [&](int i) { return std::atoi(words[i]); };
  int at = 2;
  while (at < count) {
    if (std::strcmp(words[at], "conv") == 0 && at + 6 < count) {
      rival.Convolution(words[at + 1], number(at + 2), number(at + 3), number(at + 4), number(at + 5), number(at + 6));
      at += 7;
    } else if (std::strcmp(words[at], "product") == 0 && at + 4 < count) {
      rival.Product(words[at + 1], number(at + 2), number(at + 3), number(at + 4));
      at += 5;
    } else {
      return std::fprintf(stderr, "onednn_bytes: `%s` is no layer\n", words[at]), 2;
    }
  }
}
