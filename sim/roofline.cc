#include "sim/roofline.h"

#include <algorithm>
#include <cmath>

#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"

namespace smelt::sim {
namespace {

// The plot in pixels, and its axes in powers of ten.
constexpr double kWidth = 720, kHeight = 460, kLeft = 70, kRight = 20, kTop = 30, kBottom = 50;

struct Axes {
  double x_low, x_high, y_low, y_high;  // log10
  double X(double value) const {
    return kLeft + (std::log10(value) - x_low) / (x_high - x_low) * (kWidth - kLeft - kRight);
  }
  double Y(double value) const {
    return kHeight - kBottom - (std::log10(value) - y_low) / (y_high - y_low) * (kHeight - kTop - kBottom);
  }
};

std::string Escaped(const std::string& text) {
  return absl::StrReplaceAll(text, {{"&", "&amp;"}, {"<", "&lt;"}, {">", "&gt;"}});
}

void Line(std::string* svg, double x1, double y1, double x2, double y2, const char* stroke) {
  absl::StrAppendFormat(svg, "<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" stroke=\"%s\"/>\n", x1, y1, x2, y2,
                        stroke);
}
void Text(std::string* svg, double x, double y, const char* anchor, const std::string& text) {
  absl::StrAppendFormat(svg, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor, Escaped(text));
}

}  // namespace

RooflinePoint PointOf(const Report& report, const vdla::isa::Program& program) {
  const double ops = 2.0 * static_cast<double>(report.gemm_micro_ops * program.config.MacsOfGemm());
  const auto bytes = static_cast<double>(report.dram_read_bytes + report.dram_written_bytes);
  return {program.name, bytes > 0 ? ops / bytes : 0, report.seconds > 0 ? ops / report.seconds : 0};
}

std::string RooflineSvg(const vdla::isa::Config& config, absl::Span<const RooflinePoint> points) {
  const auto clock = static_cast<double>(config.clock_hz);
  const double peak = 2.0 * static_cast<double>(config.MacsOfGemm()) * clock,
               bandwidth = config.timing.dram_bytes_per_cycle * clock;
  const double ridge = peak / bandwidth;
  double least_x = ridge / 10, most_x = ridge * 10, least_y = peak / 100;
  for (const RooflinePoint& point : points) {
    if (point.ops_per_byte <= 0 || point.ops_per_second <= 0) continue;
    least_x = std::min(least_x, point.ops_per_byte);
    most_x = std::max(most_x, point.ops_per_byte);
    least_y = std::min(least_y, point.ops_per_second);
  }
  const Axes axes{std::floor(std::log10(least_x)), std::ceil(std::log10(most_x)), std::floor(std::log10(least_y)),
                  std::ceil(std::log10(peak * 1.2))};

  std::string svg;
  absl::StrAppendFormat(&svg,
                        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" "
                        "font-family=\"sans-serif\" font-size=\"11\">\n",
                        kWidth, kHeight);
  absl::StrAppendFormat(&svg, "<rect width=\"%.0f\" height=\"%.0f\" fill=\"white\"/>\n", kWidth, kHeight);
  for (double power = axes.x_low; power <= axes.x_high; ++power) {
    const double x = axes.X(std::pow(10, power));
    Line(&svg, x, kTop, x, kHeight - kBottom, "#ddd");
    Text(&svg, x, kHeight - kBottom + 16, "middle", absl::StrFormat("%g", std::pow(10, power)));
  }
  for (double power = axes.y_low; power <= axes.y_high; ++power) {
    const double y = axes.Y(std::pow(10, power));
    Line(&svg, kLeft, y, kWidth - kRight, y, "#ddd");
    Text(&svg, kLeft - 6, y + 4, "end", absl::StrFormat("%g", std::pow(10, power) / 1e9));
  }
  Text(&svg, (kLeft + kWidth - kRight) / 2, kHeight - 12, "middle", "operations a byte of DRAM");
  Text(&svg, kLeft, 18, "start",
       absl::StrFormat("GOP/s on %s: roof %.4g, bus %.4g GB/s", config.name, peak / 1e9, bandwidth / 1e9));
  // The slope begins where it leaves the plot.
  const double start = std::max(std::pow(10, axes.x_low), std::pow(10, axes.y_low) / bandwidth);
  Line(&svg, axes.X(start), axes.Y(start * bandwidth), axes.X(ridge), axes.Y(peak), "#c33");
  Line(&svg, axes.X(ridge), axes.Y(peak), kWidth - kRight, axes.Y(peak), "#c33");
  for (const RooflinePoint& point : points) {
    if (point.ops_per_byte <= 0 || point.ops_per_second <= 0) continue;
    const double x = axes.X(point.ops_per_byte), y = axes.Y(point.ops_per_second);
    const double roof = std::min(peak, bandwidth * point.ops_per_byte);
    absl::StrAppendFormat(&svg, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4\" fill=\"#36c\"/>\n", x, y);
    Text(&svg, x + 7, y + 4, "start", absl::StrFormat("%s %.0f%%", point.name, point.ops_per_second / roof * 100));
  }
  return svg + "</svg>\n";
}

}  // namespace smelt::sim
