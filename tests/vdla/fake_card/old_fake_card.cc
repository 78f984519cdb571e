// A library of a version that this driver does not know.
#include "vdla/driver/ports/xrt_plugin.h"

extern "C" __attribute__((visibility("default"))) const VdlaXrtPlugin* vdla_xrt_plugin() {
  static const VdlaXrtPlugin plugin = {VDLA_XRT_VERSION + 1, nullptr, nullptr, nullptr, nullptr, nullptr};
  return &plugin;
}
