#include "vdla/driver/ports/open_port.h"

#include <algorithm>
#include <utility>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/driver/ports/faulty_port.h"
#include "vdla/driver/ports/options.h"
#include "vdla/driver/ports/simulator_port.h"
#include "vdla/driver/ports/xrt_port.h"

namespace smelt::vdla::driver {
namespace {

absl::StatusOr<std::unique_ptr<Port>> OpenFaulty(std::string_view name, const Options& options);

struct NamedPort {
  std::string_view name;
  absl::StatusOr<std::unique_ptr<Port>> (*open)(std::string_view name, const Options& options);
};
constexpr NamedPort kPorts[] = {
    {"functional", OpenSimulatorPort}, {"cycle", OpenSimulatorPort}, {"xrt", OpenXrtPort}, {"faulty", OpenFaulty}};

absl::StatusOr<std::unique_ptr<Port>> OpenNamed(std::string_view name, const Options& options) {
  for (const NamedPort& port : kPorts) {
    if (port.name != name) continue;
    absl::StatusOr<std::unique_ptr<Port>> opened = port.open(name, options);
    if (opened.ok()) return opened;
    return absl::Status(opened.status().code(), StrCat("port `", name, "`: ", opened.status().message()));
  }
  std::string list;
  for (const NamedPort& port : kPorts) StrAppend(&list, list.empty() ? "" : ", ", port.name);
  return absl::NotFoundError(StrCat("there is no port `", name, "`; there are ", list));
}

absl::StatusOr<std::unique_ptr<Port>> OpenFaulty(std::string_view, const Options& options) {
  SMELT_ASSIGN_OR_RETURN(const uint64_t at, options.Number("at", 1));
  const Options rest = options.Without("over").Without("fault").Without("at");
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<Port> over, OpenNamed(options.Text("over", "functional"), rest));
  return MakeFaultyPort(std::move(over), options.Text("fault", "none"), at);
}

}  // namespace

absl::StatusOr<std::unique_ptr<Port>> OpenPort(std::string_view name) {
  const size_t colon = name.find(':');
  SMELT_ASSIGN_OR_RETURN(const Options options,
                         Options::Parse(colon == std::string_view::npos ? "" : name.substr(colon + 1)));
  return OpenNamed(name.substr(0, colon), options);
}

std::vector<std::string> PortNames() {
  std::vector<std::string> names;
  for (const NamedPort& port : kPorts) names.emplace_back(port.name);
  return names;
}

}  // namespace smelt::vdla::driver
