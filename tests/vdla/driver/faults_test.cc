// What a card can do to its driver: each fault becomes a code and a text, and nothing hangs, ends the process or takes
// other streams along.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "base/clock.h"
#include "tests/vdla/driver/matrix_product.h"
#include "tests/vdla/driver/opened.h"
#include "vdla/driver/ports/faulty_port.h"
#include "vdla/driver/ports/open_port.h"
#include "vdla/driver/vdla.h"

namespace smelt::vdla::driver {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

MatrixProduct Small() {
  MatrixProduct product = {};
  product.tiles = product.rows_of_tile = product.reduction = product.columns = 2;
  return product;
}

struct FaultyRun {
  const char* port;
  VdlaCode code;
  const char* text;
  VdlaCode next;  // of the same work once more
};
class FaultOfARun : public ::testing::TestWithParam<FaultyRun> {};

TEST_P(FaultOfARun, IsACodeAndATextAndTheStreamGoesOn) {
  const Opened device(GetParam().port);
  MatrixProduct product = Small();
  ASSERT_EQ(MatrixProductPrepare(device.handle, &product), VDLA_OK) << vdla_error();
  const VdlaStream stream = device.NewStream();
  ASSERT_EQ(MatrixProductRecord(stream, &product), VDLA_OK);
  ASSERT_EQ(vdla_submit(stream), VDLA_OK) << vdla_error();
  ASSERT_EQ(MatrixProductRecord(stream, &product), VDLA_OK);
  ASSERT_EQ(vdla_submit(stream), VDLA_OK) << vdla_error();
  VdlaStatistics untouched = {};
  untouched.cycles = 12345;
  EXPECT_EQ(vdla_synchronize(stream, 0.2, &untouched), GetParam().code);
  EXPECT_EQ(untouched.cycles, 12345u);
  EXPECT_THAT(vdla_stream_error(stream),
              AllOf(HasSubstr("submission 0"), HasSubstr(GetParam().text), HasSubstr("1 behind it dropped")));
  EXPECT_STREQ(vdla_error(), vdla_stream_error(stream));

  const VdlaCode recorded = MatrixProductRecord(stream, &product);
  ASSERT_EQ(recorded, VDLA_OK) << vdla_error();
  EXPECT_EQ(vdla_synchronize(stream, 60, nullptr), GetParam().next) << vdla_error();
  if (GetParam().next == VDLA_OK) {
    EXPECT_EQ(MatrixProductDifferences(&product), 0);
  }
}

INSTANTIATE_TEST_SUITE_P(
    , FaultOfARun,
    ::testing::Values(FaultyRun{"faulty:fault=timeout", VDLA_TIMEOUT, "seconds", VDLA_OK},
                      FaultyRun{"faulty:over=cycle,fault=timeout", VDLA_TIMEOUT, "wait longer", VDLA_OK},
                      FaultyRun{"faulty:fault=trap", VDLA_PROGRAM, "instruction", VDLA_OK},
                      FaultyRun{"faulty:fault=vanish", VDLA_LOST, "open it again", VDLA_LOST},
                      FaultyRun{"faulty:fault=wrong_geometry", VDLA_MACHINE, "1x16x16", VDLA_MACHINE},
                      FaultyRun{"xrt:xclbin=times_out,plugin=" FAKE_CARD, VDLA_TIMEOUT, "in time", VDLA_LOST},
                      FaultyRun{"xrt:xclbin=no_status,plugin=" FAKE_CARD, VDLA_LOST, "wrote no status", VDLA_LOST},
                      FaultyRun{"xrt:xclbin=other_machine,plugin=" FAKE_CARD, VDLA_MACHINE, "1x32x16", VDLA_MACHINE},
                      FaultyRun{"xrt:xclbin=traps,plugin=" FAKE_CARD, VDLA_PROGRAM,
                                "instruction 3 reaches outside of the accumulators", VDLA_PROGRAM},
                      FaultyRun{"xrt:xclbin=lost,plugin=" FAKE_CARD, VDLA_LOST, "aborted", VDLA_LOST}),
    [](const auto& info) { return "Number" + std::to_string(info.index); });

TEST(Faults, DmaErrorOfACopyIsSaidAndTheNextCopyWorks) {
  const Opened device("faulty:fault=write");
  const VdlaBuffer buffer = device.NewBuffer(100);
  const std::string bytes(100, 'x');
  EXPECT_EQ(vdla_copy_to_device(buffer, 0, bytes.data(), bytes.size()), VDLA_TRANSFER);
  EXPECT_THAT(vdla_error(), AllOf(HasSubstr("vdla_copy_to_device"), HasSubstr("DMA error")));
  EXPECT_EQ(vdla_copy_to_device(buffer, 0, bytes.data(), bytes.size()), VDLA_OK);
}

TEST(Faults, DmaErrorOfAReadIsSaidAndTheNextReadWorks) {
  const Opened device("faulty:fault=read,at=2");
  const VdlaBuffer buffer = device.NewBuffer(100);
  std::string bytes(100, 'x');
  EXPECT_EQ(vdla_copy_from_device(buffer, 0, bytes.data(), bytes.size()), VDLA_OK);
  EXPECT_EQ(vdla_copy_from_device(buffer, 0, bytes.data(), bytes.size()), VDLA_TRANSFER);
  EXPECT_THAT(vdla_error(), HasSubstr("copying from the device"));
  EXPECT_EQ(vdla_copy_from_device(buffer, 0, bytes.data(), bytes.size()), VDLA_OK);
}

TEST(Faults, CardsDmaErrorIsATransferError) {
  const Opened device("xrt:xclbin=dma_error,plugin=" FAKE_CARD);
  const VdlaBuffer buffer = device.NewBuffer(4);
  EXPECT_EQ(vdla_copy_to_device(buffer, 0, "abcd", 4), VDLA_TRANSFER);
  EXPECT_THAT(vdla_error(), HasSubstr("the DMA engine reports an error"));
}

TEST(Faults, DmaErrorWhileASubmissionIsWrittenDropsIt) {
  const Opened device("faulty:fault=write,at=2");  // the first writes the micro-ops, the second the instructions
  const VdlaMicroOp op = {0, 0, 0};
  VdlaKernel kernel;
  ASSERT_EQ(vdla_kernel_record(device.handle, &op, 1, &kernel), VDLA_OK);
  const VdlaStream stream = device.NewStream();
  ASSERT_EQ(vdla_gemm(stream, kernel, VDLA_RESET, nullptr, 0), VDLA_OK);
  EXPECT_EQ(vdla_submit(stream), VDLA_TRANSFER);
  EXPECT_THAT(vdla_stream_error(stream), HasSubstr("submission 0"));
  uint64_t recorded = 99;
  EXPECT_EQ(vdla_stream_recorded(stream, &recorded), VDLA_OK);
  EXPECT_EQ(recorded, 0u);
  EXPECT_EQ(vdla_synchronize(stream, 1, nullptr), VDLA_OK);
}

TEST(Faults, CopiesThatMoveAPartGoOnBehindIt) {
  const Opened device("faulty:fault=partial");
  const VdlaBuffer buffer = device.NewBuffer(1001);
  std::string bytes, back(1001, '\0');
  for (int i = 0; i < 1001; ++i) bytes.push_back(static_cast<char>(i * 7));
  ASSERT_EQ(vdla_copy_to_device(buffer, 0, bytes.data(), bytes.size()), VDLA_OK) << vdla_error();
  ASSERT_EQ(vdla_copy_from_device(buffer, 0, back.data(), back.size()), VDLA_OK) << vdla_error();
  EXPECT_EQ(back, bytes);
}

TEST(Faults, CopiesThatMoveNothingEndAndSayHowFarTheyCame) {
  const Opened device("faulty:fault=stuck,at=2");
  const VdlaBuffer buffer = device.NewBuffer(64);
  std::string bytes(64, 'x');
  EXPECT_EQ(vdla_copy_to_device(buffer, 0, bytes.data(), 64), VDLA_OK);
  EXPECT_EQ(vdla_copy_to_device(buffer, 0, bytes.data(), 64), VDLA_TRANSFER);
  EXPECT_THAT(vdla_error(), HasSubstr("0 of 64 bytes"));
  EXPECT_EQ(vdla_copy_from_device(buffer, 0, bytes.data(), 64), VDLA_TRANSFER);
}

TEST(Faults, RefusedMemoryIsNoBuffer) {
  const Opened device("faulty:fault=memory,at=2");
  device.NewBuffer(64);
  VdlaBuffer buffer = 99;
  EXPECT_EQ(vdla_buffer_allocate(device.handle, 64, 0, &buffer), VDLA_MEMORY);
  EXPECT_EQ(buffer, 99u);
  device.NewBuffer(64);
}

TEST(Faults, CardThatVanishedIsSaidByEveryCallAndCanBeClosed) {
  VdlaDevice device;
  ASSERT_EQ(vdla_device_open("faulty:over=cycle,fault=vanish,at=2", &device), VDLA_OK);
  MatrixProduct product = Small();
  ASSERT_EQ(MatrixProductPrepare(device, &product), VDLA_OK);
  VdlaStream stream, other;
  ASSERT_EQ(vdla_stream_create(device, &stream), VDLA_OK);
  ASSERT_EQ(vdla_stream_create(device, &other), VDLA_OK);
  ASSERT_EQ(MatrixProductRecord(other, &product), VDLA_OK);
  ASSERT_EQ(vdla_submit(other), VDLA_OK);
  for (const VdlaCode expected : {VDLA_OK, VDLA_LOST}) {
    ASSERT_EQ(MatrixProductRecord(stream, &product), VDLA_OK);
    EXPECT_EQ(vdla_synchronize(stream, 60, nullptr), expected);
  }
  EXPECT_EQ(vdla_synchronize(other, 60, nullptr), VDLA_LOST);
  char byte = 0;
  VdlaBuffer buffer;
  EXPECT_EQ(vdla_copy_from_device(product.c, 0, &byte, 1), VDLA_LOST);
  EXPECT_EQ(vdla_buffer_allocate(device, 64, 0, &buffer), VDLA_LOST);
  EXPECT_EQ(vdla_buffer_free(product.c), VDLA_OK);
  EXPECT_EQ(vdla_device_close(device), VDLA_OK);
}

// Hours, in a simulator: 2^37 micro-ops of one instruction, or 2^34 of many.
void RecordHours(const Opened& device, VdlaStream stream, bool one_instruction = false) {
  std::vector<VdlaMicroOp> ops(8191, VdlaMicroOp{0, 0, 0});
  VdlaKernel kernel;
  ASSERT_EQ(vdla_kernel_record(device.handle, ops.data(), ops.size(), &kernel), VDLA_OK);
  const uint32_t turns = one_instruction ? 4095 : 32;
  const VdlaLoops loops = {turns, turns, 0, 0, 0, 0, 0, 0};
  for (int i = 0; i < (one_instruction ? 1 : 2048); ++i)
    ASSERT_EQ(vdla_gemm(stream, kernel, VDLA_ACCUMULATE, &loops, 0), VDLA_OK);
}

TEST(TimeOut, EndsARunThatWouldTakeHours) {
  for (const char* port : {"functional", "cycle", "functional:races=off"}) {
    for (const bool one_instruction : {true, false}) {
      SCOPED_TRACE(std::string(port) + (one_instruction ? ", one instruction" : ", many"));
      const Opened device(port);
      const VdlaStream stream = device.NewStream();
      RecordHours(device, stream, one_instruction);
      const Clock::time_point start = Clock::now();
      EXPECT_EQ(vdla_synchronize(stream, 0.1, nullptr), VDLA_TIMEOUT);
      EXPECT_LT(Since(start), 60);
      EXPECT_THAT(vdla_stream_error(stream), HasSubstr("submission 0"));

      MatrixProduct product = Small();
      ASSERT_EQ(RunAlone(device, product, nullptr), VDLA_OK) << vdla_error();
      EXPECT_EQ(MatrixProductDifferences(&product), 0);
    }
  }
}

TEST(TimeOut, OfZeroSecondsRunsNothingAndOfNoWorkIsNoError) {
  const Opened device("functional");
  const VdlaStream stream = device.NewStream();
  EXPECT_EQ(vdla_synchronize(stream, 0, nullptr), VDLA_OK);
  RecordHours(device, stream);
  EXPECT_EQ(vdla_synchronize(stream, 0, nullptr), VDLA_TIMEOUT);
  EXPECT_EQ(vdla_synchronize(stream, 0, nullptr), VDLA_OK) << "the queue is empty then";
}

TEST(TimeOut, CountsTheWaitForOtherStreams) {
  const Opened device("faulty:fault=timeout");  // the first run takes all its time
  const VdlaStream slow = device.NewStream(), waiting = device.NewStream();
  RecordHours(device, slow);
  RecordHours(device, waiting);
  ASSERT_EQ(vdla_submit(waiting), VDLA_OK);
  std::atomic<bool> started = false;
  VdlaCode slow_code = VDLA_OK;
  std::thread other([&] {
    started = true;
    slow_code = vdla_synchronize(slow, 1.5, nullptr);
  });
  while (!started) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(300));
  const Clock::time_point start = Clock::now();
  EXPECT_EQ(vdla_synchronize(waiting, 0.1, nullptr), VDLA_TIMEOUT);
  EXPECT_LT(Since(start), 1.0);
  EXPECT_THAT(vdla_stream_error(waiting), HasSubstr("other streams"));
  other.join();
  EXPECT_EQ(slow_code, VDLA_TIMEOUT);
}

TEST(FaultyPort, EveryFaultCanBeOpenedByItsName) {
  for (const std::string_view fault : FaultNames())
    EXPECT_TRUE(OpenPort("faulty:fault=" + std::string(fault)).ok()) << fault;
}

}  // namespace
}  // namespace smelt::vdla::driver
