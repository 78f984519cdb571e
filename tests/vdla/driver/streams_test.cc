// Streams: many at once, kernels that displace each other, and barriers in place of tokens.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/vdla/driver/matrix_product.h"
#include "tests/vdla/driver/opened.h"
#include "vdla/driver/vdla.h"

namespace smelt::vdla::driver {
namespace {

using ::testing::HasSubstr;

TEST(Streams, OfManyThreadsShareADeviceAndEachIsRight) {
  const Opened device("functional:races=off");
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (uint32_t t = 0; t < 4; ++t) {
    threads.emplace_back([&device, &wrong, t] {
      VdlaStream stream;
      if (vdla_stream_create(device.handle, &stream) != VDLA_OK) ++wrong;
      for (uint32_t i = 0; i < 5; ++i) {
        MatrixProduct product = {};
        product.tiles = 1 + (t + i) % 4;
        product.rows_of_tile = 3;
        product.reduction = 2;
        product.columns = 1 + i % 2;
        product.seed = 100 * t + i;
        if (MatrixProductPrepare(device.handle, &product) != VDLA_OK ||
            MatrixProductRecord(stream, &product) != VDLA_OK || vdla_synchronize(stream, 120, nullptr) != VDLA_OK ||
            MatrixProductDifferences(&product) != 0 || MatrixProductFree(&product) != VDLA_OK)
          ++wrong;
        // Each thread has a text of its own, and asks for another stream's while that one works.
        if (vdla_buffer_free(0) != VDLA_HANDLE || std::string(vdla_error()).find("0 is no buffer") == std::string::npos)
          ++wrong;
        static_cast<void>(vdla_stream_error(stream));
      }
      if (vdla_stream_destroy(stream) != VDLA_OK) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Streams, OfSeveralDevicesRunBesideEachOther) {
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (const char* port : {"functional", "cycle", "xrt:xclbin=works,plugin=" FAKE_CARD}) {
    threads.emplace_back([port, &wrong] {
      const Opened device(port);
      MatrixProduct product = {};
      product.tiles = product.rows_of_tile = product.reduction = product.columns = 3;
      if (RunAlone(device, product, nullptr) != VDLA_OK || MatrixProductDifferences(&product) != 0) ++wrong;
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Streams, DeviceThatIsClosedWhileAnotherThreadWorksEndsInErrorsAlone) {
  for (int i = 0; i < 5; ++i) {
    VdlaDevice device;
    ASSERT_EQ(vdla_device_open("functional:races=off", &device), VDLA_OK);
    std::atomic<int> surprises = 0;
    std::atomic<bool> working = false;
    std::thread worker([&] {
      VdlaStream stream;
      if (vdla_stream_create(device, &stream) != VDLA_OK) return;
      for (;;) {
        MatrixProduct product = {};
        product.tiles = product.rows_of_tile = product.reduction = product.columns = 2;
        VdlaCode code = MatrixProductPrepare(device, &product);
        if (code == VDLA_OK) code = MatrixProductRecord(stream, &product);
        if (code == VDLA_OK) code = vdla_synchronize(stream, 60, nullptr);
        working = true;
        if (code == VDLA_HANDLE) return;
        if (code != VDLA_OK) ++surprises;
      }
    });
    while (!working) std::this_thread::yield();
    EXPECT_EQ(vdla_device_close(device), VDLA_OK);
    worker.join();
    EXPECT_EQ(surprises, 0);
  }
}

TEST(Streams, SubmissionsRunInOrderAndEachIsCounted) {
  const Opened device("cycle");
  const VdlaStream stream = device.NewStream();
  MatrixProduct product = {};
  product.tiles = product.rows_of_tile = product.reduction = product.columns = 2;
  ASSERT_EQ(MatrixProductPrepare(device.handle, &product), VDLA_OK);
  uint64_t recorded = 0;
  for (int i = 0; i < 3; ++i) {
    ASSERT_EQ(MatrixProductRecord(stream, &product), VDLA_OK);
    ASSERT_EQ(vdla_stream_recorded(stream, &recorded), VDLA_OK);
    EXPECT_GT(recorded, 0u);
    if (i < 2) {
      ASSERT_EQ(vdla_submit(stream), VDLA_OK);
    }
  }
  VdlaStatistics three = {}, none = {};
  ASSERT_EQ(vdla_synchronize(stream, 60, &three), VDLA_OK) << vdla_error();
  EXPECT_EQ(three.submissions, 3u);
  ASSERT_EQ(vdla_stream_recorded(stream, &recorded), VDLA_OK);
  EXPECT_EQ(recorded, 0u);
  EXPECT_EQ(MatrixProductDifferences(&product), 0);
  ASSERT_EQ(vdla_synchronize(stream, 60, &none), VDLA_OK);
  EXPECT_EQ(none.submissions, 0u);
}

// Kernels of 3000 micro-ops, two of which fit into the memory at once, count how often they touched each accumulator.
TEST(Kernels, ThatDisplaceEachOtherComputeTheSame) {
  const Opened device("cycle");
  VdlaGeometry machine = {};
  ASSERT_EQ(vdla_device_geometry(device.handle, &machine), VDLA_OK);
  constexpr int kKernels = 5;
  constexpr uint32_t kMicroOps = 3000;
  std::vector<VdlaKernel> kernels(kKernels);
  std::vector<std::vector<uint32_t>> touched(kKernels);
  for (uint32_t k = 0; k < kKernels; ++k) {
    std::vector<VdlaMicroOp> ops;
    for (uint32_t i = 0; i < kMicroOps; ++i) {
      ops.push_back({(i * (2 * k + 3) + k * 17) % machine.acc_elements, 0, 0});
      touched[k].push_back(ops.back().dst);
    }
    ASSERT_EQ(vdla_kernel_record(device.handle, ops.data(), ops.size(), &kernels[k]), VDLA_OK) << vdla_error();
  }
  std::vector<VdlaMicroOp> all;
  for (uint32_t i = 0; i < machine.acc_elements; ++i) all.push_back({i, 0, 0});
  VdlaKernel everything;
  ASSERT_EQ(vdla_kernel_record(device.handle, all.data(), all.size(), &everything), VDLA_OK);
  const VdlaStream stream = device.NewStream();
  ASSERT_EQ(vdla_gemm(stream, everything, VDLA_RESET, nullptr, 0), VDLA_OK);
  std::mt19937 random(3);
  std::vector<int32_t> expected(machine.acc_elements, 0);
  for (int i = 0; i < 40; ++i) {
    const uint32_t k = random() % kKernels;
    ASSERT_EQ(vdla_alu_immediate(stream, kernels[k], VDLA_ADD, static_cast<int32_t>(k + 1), nullptr, 0), VDLA_OK);
    for (const uint32_t dst : touched[k]) expected[dst] += static_cast<int32_t>(k + 1);
  }
  ASSERT_EQ(vdla_barrier(stream), VDLA_OK);
  const uint32_t lanes = machine.batch * machine.block_out;
  const VdlaBuffer results = device.NewBuffer(uint64_t{machine.acc_elements} * machine.acc_bytes);
  const VdlaTransfer store = {VDLA_ACC, 0, 0, 1, machine.acc_elements, machine.acc_elements, 0, 0, 0, 0, 0, 0};
  ASSERT_EQ(vdla_store(stream, results, &store), VDLA_OK) << vdla_error();
  ASSERT_EQ(vdla_synchronize(stream, 120, nullptr), VDLA_OK) << vdla_error();
  uint64_t evictions = 0;
  ASSERT_EQ(vdla_stream_evictions(stream, &evictions), VDLA_OK);
  EXPECT_GT(evictions, 10u);
  std::vector<int32_t> computed(machine.acc_elements * lanes);
  ASSERT_EQ(vdla_copy_from_device(results, 0, computed.data(), computed.size() * 4), VDLA_OK);
  for (uint32_t i = 0; i < computed.size(); ++i) ASSERT_EQ(computed[i], expected[i / lanes]) << i;
}

// The same random work with a barrier behind each instruction as in submissions of its own, on a port that finds races.
TEST(Barriers, MakeAProgramMeanWhatItsOrderSays) {
  for (uint32_t seed = 0; seed < 20; ++seed) {
    SCOPED_TRACE(seed);
    std::vector<std::string> results;
    for (const bool barriers : {true, false}) {
      const Opened device(barriers ? "cycle" : "functional");
      std::mt19937 random(seed);
      const VdlaStream stream = device.NewStream();
      const VdlaBuffer buffer = device.NewBuffer(4096);
      std::string bytes(4096, '\0');
      for (char& byte : bytes) byte = static_cast<char>(random());
      ASSERT_EQ(vdla_copy_to_device(buffer, 0, bytes.data(), bytes.size()), VDLA_OK);
      const std::vector<VdlaMicroOp> ops = {{0, 1, 0}, {1, 0, 1}, {3, 2, 0}};
      VdlaKernel kernel;
      ASSERT_EQ(vdla_kernel_record(device.handle, ops.data(), ops.size(), &kernel), VDLA_OK);
      const auto transfer = [&](uint32_t memory, uint32_t element) {
        const uint32_t columns = 1 + random() % 3, rows = 1 + random() % 2;
        return VdlaTransfer{
            memory, static_cast<uint32_t>(random() % 4), random() % 8 * element, rows, columns, 4, 0, 0, 0, 0, 0, 0};
      };
      VdlaTransfer everything = {VDLA_ACC, 0, 0, 1, 16, 16, 0, 0, 0, 0, 0, 0};
      ASSERT_EQ(vdla_load(stream, buffer, &everything), VDLA_OK);
      everything.memory = VDLA_INP;
      ASSERT_EQ(vdla_barrier(stream), VDLA_OK);
      ASSERT_EQ(vdla_load(stream, buffer, &everything), VDLA_OK);
      const VdlaTransfer weights = {VDLA_WGT, 0, 0, 1, 8, 8, 0, 0, 0, 0, 0, 0};
      ASSERT_EQ(vdla_load(stream, buffer, &weights), VDLA_OK);
      for (int i = 0; i < 25; ++i) {
        if (barriers) {
          ASSERT_EQ(vdla_barrier(stream), VDLA_OK);
        } else {
          ASSERT_EQ(vdla_synchronize(stream, 60, nullptr), VDLA_OK) << vdla_error();
        }
        VdlaTransfer moved;
        switch (random() % 6) {
          case 0:
            moved = transfer(VDLA_INP, 16);
            ASSERT_EQ(vdla_load(stream, buffer, &moved), VDLA_OK) << vdla_error();
            break;
          case 1:
            moved = transfer(VDLA_WGT, 256);
            ASSERT_EQ(vdla_load(stream, buffer, &moved), VDLA_OK) << vdla_error();
            break;
          case 2:
            moved = transfer(VDLA_ACC8, 16);
            ASSERT_EQ(vdla_load(stream, buffer, &moved), VDLA_OK) << vdla_error();
            break;
          case 3:
            moved = transfer(random() % 2 == 0 ? VDLA_ACC8 : VDLA_ACC, 64);
            ASSERT_EQ(vdla_store(stream, buffer, &moved), VDLA_OK) << vdla_error();
            break;
          case 4:
            ASSERT_EQ(vdla_gemm(stream, kernel, random() % 3, nullptr, 0), VDLA_OK);
            break;
          default:
            ASSERT_EQ(vdla_alu(stream, kernel, random() % 11, nullptr, 0), VDLA_OK);
        }
      }
      ASSERT_EQ(vdla_synchronize(stream, 60, nullptr), VDLA_OK) << vdla_error();
      ASSERT_EQ(vdla_copy_from_device(buffer, 0, bytes.data(), bytes.size()), VDLA_OK);
      results.push_back(bytes);
    }
    EXPECT_EQ(results[0], results[1]);
  }
}

TEST(Streams, TokensThatDoNotAddUpAreRefusedBeforeTheyReachTheDevice) {
  const Opened device("functional");
  const VdlaStream stream = device.NewStream();
  ASSERT_EQ(vdla_pop_token(stream, VDLA_UNIT_COMPUTE, VDLA_UNIT_LOAD), VDLA_OK);
  const VdlaBuffer buffer = device.NewBuffer(64);
  const VdlaTransfer load = {VDLA_INP, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  ASSERT_EQ(vdla_load(stream, buffer, &load), VDLA_OK);
  EXPECT_EQ(vdla_synchronize(stream, 10, nullptr), VDLA_PROGRAM);
  EXPECT_THAT(vdla_stream_error(stream), HasSubstr("instruction 0 (LOAD) waits for a token of compute->load"));
}

}  // namespace
}  // namespace smelt::vdla::driver
