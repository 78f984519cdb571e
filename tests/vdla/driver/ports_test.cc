// The same program on every port gives what plain C gives, and says what it took.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "tests/vdla/driver/matrix_product.h"
#include "tests/vdla/driver/opened.h"
#include "vdla/driver/vdla.h"

namespace smelt::vdla::driver {
namespace {

using ::testing::HasSubstr;

class EveryPort : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryPort, ComputesAMatrixProductAsPlainCDoes) {
  const Opened device(GetParam());
  MatrixProduct product = {};
  product.tiles = 7;
  product.rows_of_tile = 5;
  product.reduction = 4;
  product.columns = 3;
  product.seed = 1;
  VdlaStatistics statistics = {};
  ASSERT_EQ(RunAlone(device, product, &statistics), VDLA_OK) << vdla_error();
  EXPECT_EQ(MatrixProductDifferences(&product), 0);
  EXPECT_EQ(statistics.submissions, 1);
  EXPECT_GT(statistics.instructions, 40u);
  const uint64_t of_a_micro_op = product.machine.batch * product.machine.block_in * product.machine.block_out;
  EXPECT_EQ(statistics.multiplications, 7 * 5 * 4 * 3 * of_a_micro_op);
  EXPECT_GT(statistics.host_seconds, 0);
}

TEST_P(EveryPort, RunsAgainAndGivesTheSame) {
  const Opened device(GetParam());
  for (uint32_t seed = 0; seed < 3; ++seed) {
    MatrixProduct product = {};
    product.tiles = 1 + seed;
    product.rows_of_tile = 2;
    product.reduction = 2;
    product.columns = 2;
    product.seed = seed;
    ASSERT_EQ(RunAlone(device, product, nullptr), VDLA_OK) << vdla_error();
    EXPECT_EQ(MatrixProductDifferences(&product), 0);
    EXPECT_EQ(MatrixProductFree(&product), VDLA_OK);
  }
}

INSTANTIATE_TEST_SUITE_P(, EveryPort,
                         ::testing::Values("functional", "cycle", "functional:machine=big",
                                           "cycle:machine=big,races=off", "faulty", "faulty:over=cycle,fault=partial",
                                           "xrt:xclbin=works,plugin=" FAKE_CARD),
                         [](const auto& info) { return "Number" + std::to_string(info.index); });

TEST(CyclePort, SaysWhereTheCyclesWent) {
  const Opened device("cycle");
  MatrixProduct product = {};
  product.tiles = 6;
  product.rows_of_tile = 16;
  product.reduction = 8;
  product.columns = 8;
  VdlaStatistics statistics = {};
  ASSERT_EQ(RunAlone(device, product, &statistics), VDLA_OK) << vdla_error();
  EXPECT_EQ(statistics.timed, 1u);
  // 6144 micro-ops of GEMM are the least that it can take.
  EXPECT_GT(statistics.cycles, 6144u);
  EXPECT_DOUBLE_EQ(statistics.device_seconds, static_cast<double>(statistics.cycles) / 200e6);
  EXPECT_DOUBLE_EQ(statistics.utilization, 6144.0 / static_cast<double>(statistics.cycles));
  for (const VdlaUnitCycles& unit : statistics.units)
    EXPECT_NEAR(static_cast<double>(unit.busy + unit.token + unit.dma + unit.port + unit.queue),
                static_cast<double>(statistics.cycles), 3);
  EXPECT_GE(statistics.units[VDLA_UNIT_COMPUTE].busy, 6144u);
}

TEST(FunctionalPort, CountsNoCycles) {
  const Opened device("functional");
  MatrixProduct product = {};
  product.tiles = product.rows_of_tile = product.reduction = product.columns = 2;
  VdlaStatistics statistics = {};
  ASSERT_EQ(RunAlone(device, product, &statistics), VDLA_OK) << vdla_error();
  EXPECT_EQ(statistics.timed, 0u);
  EXPECT_EQ(statistics.cycles, 0u);
  EXPECT_EQ(statistics.utilization, 0);
}

TEST(XrtPort, TakesCyclesFromTheCard) {
  const Opened device("xrt:xclbin=works,plugin=" FAKE_CARD);
  MatrixProduct product = {};
  product.tiles = product.rows_of_tile = product.reduction = product.columns = 2;
  VdlaStatistics statistics = {};
  ASSERT_EQ(RunAlone(device, product, &statistics), VDLA_OK) << vdla_error();
  EXPECT_EQ(statistics.timed, 1u);
  EXPECT_EQ(statistics.cycles, (uint64_t{1} << 32) + 1000);
}

TEST(Ports, RaceIsAnErrorOfTheProgram) {
  for (const char* port : {"functional", "cycle"}) {
    const Opened device(port);
    const VdlaStream stream = device.NewStream();
    const VdlaBuffer buffer = device.NewBuffer(1024);
    // Both write the same inputs, and nothing orders the second load behind the product that reads the first.
    const VdlaMicroOp op = {0, 0, 0};
    VdlaKernel kernel;
    ASSERT_EQ(vdla_kernel_record(device.handle, &op, 1, &kernel), VDLA_OK);
    const VdlaTransfer inputs = {VDLA_INP, 0, 0, 1, 4, 4, 0, 0, 0, 0, 0, 0};
    EXPECT_EQ(vdla_load(stream, buffer, &inputs), VDLA_OK);
    EXPECT_EQ(vdla_gemm(stream, kernel, VDLA_OVERWRITE, nullptr, 0), VDLA_OK);
    EXPECT_EQ(vdla_synchronize(stream, 10, nullptr), VDLA_PROGRAM) << port;
    EXPECT_THAT(vdla_stream_error(stream), HasSubstr("instruction 0"));
    EXPECT_THAT(vdla_stream_error(stream), HasSubstr("INP"));
  }
}

TEST(Ports, RacesAreNotLookedForWhereTheOptionSaysSo) {
  const Opened device("functional:races=off");
  const VdlaStream stream = device.NewStream();
  const VdlaBuffer buffer = device.NewBuffer(1024);
  const VdlaMicroOp op = {0, 0, 0};
  VdlaKernel kernel;
  ASSERT_EQ(vdla_kernel_record(device.handle, &op, 1, &kernel), VDLA_OK);
  const VdlaTransfer inputs = {VDLA_INP, 0, 0, 1, 4, 4, 0, 0, 0, 0, 0, 0};
  EXPECT_EQ(vdla_load(stream, buffer, &inputs), VDLA_OK);
  EXPECT_EQ(vdla_gemm(stream, kernel, VDLA_OVERWRITE, nullptr, 0), VDLA_OK);
  EXPECT_EQ(vdla_synchronize(stream, 10, nullptr), VDLA_OK) << vdla_error();
}

struct BadName {
  const char* port;
  VdlaCode code;
  const char* text;
};
class BadPort : public ::testing::TestWithParam<BadName> {};

TEST_P(BadPort, IsRefusedWithAReason) {
  VdlaDevice device = 99;
  EXPECT_EQ(vdla_device_open(GetParam().port, &device), GetParam().code);
  EXPECT_THAT(vdla_error(), HasSubstr(GetParam().text));
  EXPECT_EQ(device, 99u) << "written on success alone";
}

INSTANTIATE_TEST_SUITE_P(
    , BadPort,
    ::testing::Values(BadName{"", VDLA_NOT_FOUND, "functional, cycle, xrt, faulty"},
                      BadName{"fpga", VDLA_NOT_FOUND, "no port `fpga`"},
                      BadName{"cycle:machine=tiny", VDLA_NOT_FOUND, "tiny"},
                      BadName{"cycle:machine", VDLA_INVALID, "key=value"},
                      BadName{"cycle:speed=fast", VDLA_INVALID, "no option `speed`"},
                      BadName{"cycle:races=maybe", VDLA_INVALID, "on or off"},
                      BadName{"cycle:races=on,races=on", VDLA_INVALID, "given twice"},
                      BadName{"functional:dram=0", VDLA_INVALID, "above zero"},
                      BadName{"functional:dram=12T", VDLA_INVALID, "K, M or G"},
                      BadName{"functional:dram=99999999999999999999", VDLA_INVALID, "whole number"},
                      BadName{"functional:dram=99999999999999G", VDLA_INVALID, "whole number"},
                      BadName{"faulty:fault=fire", VDLA_INVALID, "timeout, trap, vanish"},
                      BadName{"faulty:over=fpga", VDLA_NOT_FOUND, "no port `fpga`"},
                      BadName{"xrt", VDLA_INVALID, "xclbin=FILE"},
                      BadName{"xrt:xclbin=a,plugin=nowhere/libvdla_xrt.so", VDLA_NOT_FOUND, "libxrt-dev"},
                      BadName{"xrt:xclbin=a,plugin=" NO_CARD, VDLA_NOT_FOUND, "no function vdla_xrt_plugin"},
                      BadName{"xrt:xclbin=a,plugin=" OLD_FAKE_CARD, VDLA_MACHINE, "is of version 2"},
                      BadName{"xrt:xclbin=no_card,plugin=" FAKE_CARD, VDLA_NOT_FOUND, "no such card"},
                      BadName{"xrt:xclbin=works,device=1,plugin=" FAKE_CARD, VDLA_NOT_FOUND, "no such card"},
                      BadName{"xrt:xclbin=works,kernel=vta,plugin=" FAKE_CARD, VDLA_NOT_FOUND, "no such kernel"},
                      BadName{"xrt:xclbin=no_memory,plugin=" FAKE_CARD, VDLA_MEMORY, "not so much memory"}),
    [](const auto& info) { return "Number" + std::to_string(info.index); });

TEST(Ports, MachineHasTheGeometryOfItsName) {
  const Opened device("functional:machine=big,dram=64M");
  VdlaGeometry geometry = {};
  ASSERT_EQ(vdla_device_geometry(device.handle, &geometry), VDLA_OK);
  EXPECT_EQ(geometry.block_in, 32u);
  EXPECT_EQ(geometry.wgt_bytes, 1024u);
  EXPECT_EQ(geometry.acc8_bytes, 32u);
  EXPECT_EQ(geometry.dram_bytes, uint64_t{64} << 20);
  EXPECT_EQ(geometry.clock_hz, 300e6);
}

}  // namespace
}  // namespace smelt::vdla::driver
