// A device that is open for the time of a test, through vdla.h.
//
//   const Opened device("functional");
//   VdlaStream stream = device.NewStream();
#pragma once

#include <gtest/gtest.h>

#include <string>

#include "tests/vdla/driver/matrix_product.h"
#include "vdla/driver/vdla.h"

namespace smelt::vdla::driver {

struct Opened {
  explicit Opened(const std::string& port) {
    EXPECT_EQ(vdla_device_open(port.c_str(), &handle), VDLA_OK) << vdla_error();
  }
  Opened(const Opened&) = delete;
  Opened& operator=(const Opened&) = delete;
  ~Opened() { EXPECT_EQ(vdla_device_close(handle), VDLA_OK) << vdla_error(); }

  VdlaStream NewStream() const {
    VdlaStream stream = 0;
    EXPECT_EQ(vdla_stream_create(handle, &stream), VDLA_OK) << vdla_error();
    return stream;
  }
  VdlaBuffer NewBuffer(uint64_t bytes) const {
    VdlaBuffer buffer = 0;
    EXPECT_EQ(vdla_buffer_allocate(handle, bytes, 0, &buffer), VDLA_OK) << vdla_error();
    return buffer;
  }

  VdlaDevice handle = 0;
};

// Prepares, records and runs on a stream of its own.
inline VdlaCode RunAlone(const Opened& device, MatrixProduct& product, VdlaStatistics* statistics) {
  if (const VdlaCode code = MatrixProductPrepare(device.handle, &product); code != VDLA_OK) return code;
  const VdlaStream stream = device.NewStream();
  if (const VdlaCode code = MatrixProductRecord(stream, &product); code != VDLA_OK) return code;
  return vdla_synchronize(stream, 120, statistics);
}

}  // namespace smelt::vdla::driver
