// Wrong use of each function is a code and a text, and changes nothing.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <limits>
#include <string>
#include <vector>

#include "tests/vdla/driver/opened.h"
#include "vdla/driver/vdla.h"

namespace smelt::vdla::driver {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::StartsWith;

struct Handles {
  VdlaDevice device = 0;
  VdlaStream stream = 0;
  VdlaBuffer buffer = 0;
  VdlaKernel kernel = 0;
};
const VdlaTransfer kLoad = {VDLA_INP, 0, 0, 1, 4, 4, 0, 0, 0, 0, 0, 0};
const VdlaMicroOp kOp = {0, 0, 0};

Handles Make(const Opened& device) {
  Handles handles{.device = device.handle, .stream = device.NewStream(), .buffer = device.NewBuffer(1024)};
  EXPECT_EQ(vdla_kernel_record(device.handle, &kOp, 1, &handles.kernel), VDLA_OK);
  return handles;
}

// Every function that takes a handle of one kind, with a good value for all other arguments.
struct Function {
  const char* name;
  uint64_t Handles::*right;  // the handle that it takes
  std::function<VdlaCode(uint64_t handle, const Handles& others)> call;
};

const std::vector<Function>& Functions() {
  static uint64_t number;
  static VdlaGeometry geometry;
  static char bytes[16];
  static VdlaBuffer made;
  static const auto* const functions = new std::vector<Function>{
      {"vdla_device_close", &Handles::device, [](uint64_t h, const Handles&) { return vdla_device_close(h); }},
      {"vdla_device_geometry", &Handles::device,
       [](uint64_t h, const Handles&) { return vdla_device_geometry(h, &geometry); }},
      {"vdla_buffer_allocate", &Handles::device,
       [](uint64_t h, const Handles&) { return vdla_buffer_allocate(h, 64, 0, &made); }},
      {"vdla_kernel_record", &Handles::device,
       [](uint64_t h, const Handles&) { return vdla_kernel_record(h, &kOp, 1, &made); }},
      {"vdla_stream_create", &Handles::device, [](uint64_t h, const Handles&) { return vdla_stream_create(h, &made); }},
      {"vdla_buffer_free", &Handles::buffer, [](uint64_t h, const Handles&) { return vdla_buffer_free(h); }},
      {"vdla_buffer_size", &Handles::buffer, [](uint64_t h, const Handles&) { return vdla_buffer_size(h, &number); }},
      {"vdla_copy_to_device", &Handles::buffer,
       [](uint64_t h, const Handles&) { return vdla_copy_to_device(h, 0, bytes, 16); }},
      {"vdla_copy_from_device", &Handles::buffer,
       [](uint64_t h, const Handles&) { return vdla_copy_from_device(h, 0, bytes, 16); }},
      {"vdla_load", &Handles::buffer, [](uint64_t h, const Handles& o) { return vdla_load(o.stream, h, &kLoad); }},
      {"vdla_kernel_free", &Handles::kernel, [](uint64_t h, const Handles&) { return vdla_kernel_free(h); }},
      {"vdla_gemm", &Handles::kernel,
       [](uint64_t h, const Handles& o) { return vdla_gemm(o.stream, h, VDLA_RESET, nullptr, 0); }},
      {"vdla_alu", &Handles::kernel,
       [](uint64_t h, const Handles& o) { return vdla_alu(o.stream, h, VDLA_ADD, nullptr, 0); }},
      {"vdla_alu_immediate", &Handles::kernel,
       [](uint64_t h, const Handles& o) { return vdla_alu_immediate(o.stream, h, VDLA_ADD, 1, nullptr, 0); }},
      {"vdla_stream_destroy", &Handles::stream, [](uint64_t h, const Handles&) { return vdla_stream_destroy(h); }},
      {"vdla_stream_recorded", &Handles::stream,
       [](uint64_t h, const Handles&) { return vdla_stream_recorded(h, &number); }},
      {"vdla_stream_evictions", &Handles::stream,
       [](uint64_t h, const Handles&) { return vdla_stream_evictions(h, &number); }},
      {"vdla_stream_clear", &Handles::stream, [](uint64_t h, const Handles&) { return vdla_stream_clear(h); }},
      {"vdla_load", &Handles::stream, [](uint64_t h, const Handles& o) { return vdla_load(h, o.buffer, &kLoad); }},
      {"vdla_store", &Handles::stream, [](uint64_t h, const Handles& o) { return vdla_store(h, o.buffer, &kLoad); }},
      {"vdla_gemm", &Handles::stream,
       [](uint64_t h, const Handles& o) { return vdla_gemm(h, o.kernel, VDLA_RESET, nullptr, 0); }},
      {"vdla_alu", &Handles::stream,
       [](uint64_t h, const Handles& o) { return vdla_alu(h, o.kernel, VDLA_ADD, nullptr, 0); }},
      {"vdla_alu_immediate", &Handles::stream,
       [](uint64_t h, const Handles& o) { return vdla_alu_immediate(h, o.kernel, VDLA_ADD, 1, nullptr, 0); }},
      {"vdla_push_token", &Handles::stream, [](uint64_t h, const Handles&) { return vdla_push_token(h, 0, 1); }},
      {"vdla_pop_token", &Handles::stream, [](uint64_t h, const Handles&) { return vdla_pop_token(h, 0, 1); }},
      {"vdla_barrier", &Handles::stream, [](uint64_t h, const Handles&) { return vdla_barrier(h); }},
      {"vdla_submit", &Handles::stream, [](uint64_t h, const Handles&) { return vdla_submit(h); }},
      {"vdla_synchronize", &Handles::stream,
       [](uint64_t h, const Handles&) { return vdla_synchronize(h, 1, nullptr); }},
  };
  return *functions;
}

TEST(Misuse, EveryFunctionRefusesHandlesThatAreNone) {
  const Opened device("functional");
  const Handles handles = Make(device);
  const uint64_t kinds[] = {handles.device, handles.stream, handles.buffer, handles.kernel};
  for (const Function& function : Functions()) {
    SCOPED_TRACE(function.name);
    const struct {
      uint64_t handle;
      const char* text;
    } cases[] = {{0, "0 is no "},
                 {12345, "never gave that number"},
                 {~uint64_t{0}, "never gave that number"},
                 {handles.*function.right + 100000, "never gave that number"}};
    for (const auto& [handle, text] : cases) {
      EXPECT_EQ(function.call(handle, handles), VDLA_HANDLE);
      EXPECT_THAT(vdla_error(), AllOf(StartsWith(std::string(function.name) + ": "), HasSubstr(text)));
    }
    for (const uint64_t other : kinds) {
      if (other == handles.*function.right) continue;
      EXPECT_EQ(function.call(other, handles), VDLA_HANDLE);
      EXPECT_THAT(vdla_error(), HasSubstr("was given where a "));
    }
  }
}

TEST(Misuse, EveryFunctionRefusesAHandleThatIsNoLongerOpen) {
  Handles handles;
  {
    const Opened device("functional");
    handles = Make(device);
  }
  const Opened other("functional");
  const Handles open = Make(other);
  for (const Function& function : Functions()) {
    SCOPED_TRACE(function.name);
    EXPECT_EQ(function.call(handles.*function.right, open), VDLA_HANDLE);
    EXPECT_THAT(vdla_error(), HasSubstr("is closed or freed"));
  }
}

TEST(Misuse, FreeingTwiceIsAnError) {
  const Opened device("functional");
  const Handles handles = Make(device);
  EXPECT_EQ(vdla_buffer_free(handles.buffer), VDLA_OK);
  EXPECT_EQ(vdla_buffer_free(handles.buffer), VDLA_HANDLE);
  EXPECT_EQ(vdla_kernel_free(handles.kernel), VDLA_OK);
  EXPECT_EQ(vdla_kernel_free(handles.kernel), VDLA_HANDLE);
  EXPECT_EQ(vdla_stream_destroy(handles.stream), VDLA_OK);
  EXPECT_EQ(vdla_stream_destroy(handles.stream), VDLA_HANDLE);
  EXPECT_THAT(vdla_stream_error(handles.stream), HasSubstr("is closed or freed"));
}

TEST(Misuse, HandlesOfAnotherDeviceAreRefused) {
  const Opened one("functional"), two("functional");
  const Handles a = Make(one), b = Make(two);
  EXPECT_EQ(vdla_load(a.stream, b.buffer, &kLoad), VDLA_INVALID);
  EXPECT_THAT(vdla_stream_error(a.stream), AllOf(HasSubstr("instruction 0 (LOAD)"), HasSubstr("another device")));
  EXPECT_EQ(vdla_store(a.stream, b.buffer, &kLoad), VDLA_INVALID);
  EXPECT_EQ(vdla_gemm(a.stream, b.kernel, VDLA_RESET, nullptr, 0), VDLA_INVALID);
  EXPECT_THAT(vdla_stream_error(a.stream), HasSubstr("another device"));
  EXPECT_EQ(vdla_alu(a.stream, b.kernel, VDLA_ADD, nullptr, 0), VDLA_INVALID);
  EXPECT_EQ(vdla_alu_immediate(a.stream, b.kernel, VDLA_ADD, 1, nullptr, 0), VDLA_INVALID);
  EXPECT_STREQ(vdla_stream_error(b.stream), "");
}

TEST(Misuse, NullIsRefusedByName) {
  const Opened device("functional");
  const Handles h = Make(device);
  VdlaDevice opened;
  VdlaProgram program;
  const struct {
    VdlaCode code;
    std::string error;
  } calls[] = {
      {vdla_device_open(nullptr, &opened), vdla_error()},
      {vdla_device_open("functional", nullptr), vdla_error()},
      {vdla_device_geometry(h.device, nullptr), vdla_error()},
      {vdla_buffer_allocate(h.device, 64, 0, nullptr), vdla_error()},
      {vdla_buffer_size(h.buffer, nullptr), vdla_error()},
      {vdla_copy_to_device(h.buffer, 0, nullptr, 1), vdla_error()},
      {vdla_copy_from_device(h.buffer, 0, nullptr, 1), vdla_error()},
      {vdla_kernel_record(h.device, nullptr, 1, &opened), vdla_error()},
      {vdla_kernel_record(h.device, &kOp, 1, nullptr), vdla_error()},
      {vdla_stream_create(h.device, nullptr), vdla_error()},
      {vdla_stream_recorded(h.stream, nullptr), vdla_error()},
      {vdla_stream_evictions(h.stream, nullptr), vdla_error()},
      {vdla_load(h.stream, h.buffer, nullptr), vdla_error()},
      {vdla_store(h.stream, h.buffer, nullptr), vdla_error()},
      {vdla_program_load_file(h.device, nullptr, &program), vdla_error()},
      {vdla_program_load_file(h.device, "x", nullptr), vdla_error()},
      {vdla_program_load(h.device, nullptr, 1, &program), vdla_error()},
      {vdla_program_load(h.device, "x", 1, nullptr), vdla_error()},
  };
  for (const auto& [code, error] : calls) {
    EXPECT_EQ(code, VDLA_INVALID) << error;
    EXPECT_THAT(error, HasSubstr("is NULL"));
  }
  EXPECT_EQ(vdla_program_segment(0, nullptr, &opened), VDLA_INVALID);
  EXPECT_EQ(vdla_program_segment(0, "x", nullptr), VDLA_INVALID);
  EXPECT_EQ(vdla_program_segment(h.buffer, "x", &opened), VDLA_HANDLE);
  EXPECT_EQ(vdla_program_free(h.kernel), VDLA_HANDLE);
  EXPECT_EQ(vdla_submit_program(h.stream, h.buffer), VDLA_HANDLE);
}

TEST(Misuse, NumbersThatAreNoEnumeratorsAreRefused) {
  const Opened device("functional");
  const Handles h = Make(device);
  VdlaTransfer transfer = kLoad;
  transfer.memory = 5;
  EXPECT_EQ(vdla_load(h.stream, h.buffer, &transfer), VDLA_INVALID);
  EXPECT_THAT(vdla_error(), HasSubstr("no memory 5"));
  transfer = kLoad;
  transfer.tokens = 16;
  EXPECT_EQ(vdla_load(h.stream, h.buffer, &transfer), VDLA_INVALID);
  EXPECT_THAT(vdla_error(), HasSubstr("tokens 16"));
  EXPECT_EQ(vdla_gemm(h.stream, h.kernel, 3, nullptr, 0), VDLA_INVALID);
  EXPECT_EQ(vdla_gemm(h.stream, h.kernel, 0, nullptr, 99), VDLA_INVALID);
  EXPECT_EQ(vdla_alu(h.stream, h.kernel, 11, nullptr, 0), VDLA_INVALID);
  EXPECT_EQ(vdla_alu_immediate(h.stream, h.kernel, 4294967295u, 0, nullptr, 0), VDLA_INVALID);
  EXPECT_EQ(vdla_push_token(h.stream, 0, 3), VDLA_INVALID);
  EXPECT_EQ(vdla_pop_token(h.stream, 7, 1), VDLA_INVALID);
  EXPECT_EQ(vdla_push_token(h.stream, VDLA_UNIT_LOAD, VDLA_UNIT_STORE), VDLA_INVALID);
  uint64_t recorded = 99;
  EXPECT_EQ(vdla_stream_recorded(h.stream, &recorded), VDLA_OK);
  EXPECT_EQ(recorded, 0u);
  EXPECT_STREQ(vdla_code_name(VDLA_TRANSFER), "VDLA_TRANSFER");
  EXPECT_STREQ(vdla_code_name(static_cast<VdlaCode>(12)), "no VdlaCode");
}

struct BadTransfer {
  bool load;
  VdlaTransfer transfer;
  const char* text;
};
TEST(Misuse, TransfersThatCannotBeAreRefusedByInstruction) {
  const Opened device("functional");
  const Handles h = Make(device);  // a buffer of 1024 bytes
  ASSERT_EQ(vdla_load(h.stream, h.buffer, &kLoad), VDLA_OK);
  const BadTransfer cases[] = {
      {true, {VDLA_INP, 0, 8, 1, 1, 1, 0, 0, 0, 0, 0, 0}, "offset 8 is no multiple of the 16 bytes"},
      {true, {VDLA_INP, 0, 0, 1, 65, 65, 0, 0, 0, 0, 0, 0}, "ends 65 elements of 16 bytes behind offset 0"},
      {true, {VDLA_INP, 0, 1024, 1, 1, 1, 0, 0, 0, 0, 0, 0}, "outside of the buffer's 1024 bytes"},
      {true, {VDLA_INP, 0, uint64_t{1} << 60, 1, 1, 1, 0, 0, 0, 0, 0, 0}, "outside of the buffer's 1024 bytes"},
      {true, {VDLA_INP, 0, 0, 9, 1, 8, 0, 0, 0, 0, 0, 0}, "outside of the buffer's 1024 bytes"},
      {true, {VDLA_INP, 0, 0, 0xffffffff, 0xffffffff, 0xffffffff, 0, 0, 0, 0, 0, 0}, "outside of the buffer's"},
      {true, {VDLA_INP, 2047, 0, 1, 2, 2, 0, 0, 0, 0, 0, 0}, "reaches element 2048"},
      {true, {VDLA_INP, 0, 0, 1, 1, 1, 16, 0, 0, 0, 0, 0}, "y_pad_before"},
      {true, {VDLA_INP, 0, 0, 1, 1, 1, 1, 0, 0, 0, 200, 0}, "pad_value"},
      {true, {VDLA_INP, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, VDLA_PUSH_PREV}, "push_prev"},
      {true, {VDLA_INP, 0, 0, 8192, 0, 0, 0, 0, 0, 0, 0, 0}, "y_size"},
      {false, {VDLA_INP, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0}, "STORE"},
      {false, {VDLA_ACC, 0, 0, 1, 1, 1, 0, 0, 1, 0, 0, 0}, "STORE"},
      {false, {VDLA_ACC, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, VDLA_PUSH_NEXT}, "push_next"},
  };
  for (const BadTransfer& bad : cases) {
    SCOPED_TRACE(bad.text);
    EXPECT_EQ((bad.load ? vdla_load : vdla_store)(h.stream, h.buffer, &bad.transfer), VDLA_INVALID);
    EXPECT_THAT(vdla_error(), AllOf(HasSubstr("instruction 1 ("), HasSubstr(bad.text)));
  }
  EXPECT_EQ(vdla_synchronize(h.stream, 10, nullptr), VDLA_OK) << vdla_error() << ": what was in order still runs";
}

TEST(Misuse, KernelsThatCannotBeAreRefused) {
  const Opened device("functional");
  VdlaKernel kernel = 99;
  const std::vector<VdlaMicroOp> many(8192, kOp);
  EXPECT_EQ(vdla_kernel_record(device.handle, &kOp, 0, &kernel), VDLA_INVALID);
  EXPECT_EQ(vdla_kernel_record(device.handle, many.data(), 8192, &kernel), VDLA_INVALID);
  EXPECT_THAT(vdla_error(), HasSubstr("from 1 to 8191"));
  EXPECT_EQ(vdla_kernel_record(device.handle, many.data(), 8191, &kernel), VDLA_OK);
  for (const VdlaMicroOp& bad : {VdlaMicroOp{4096, 0, 0}, VdlaMicroOp{0, 4096, 0}, VdlaMicroOp{0, 0, 256}}) {
    EXPECT_EQ(vdla_kernel_record(device.handle, &bad, 1, &kernel), VDLA_INVALID);
    EXPECT_THAT(vdla_error(), HasSubstr("micro-op 0"));
  }
}

TEST(Misuse, TimeOutsThatAreNoneAreRefused) {
  const Opened device("functional");
  const Handles h = Make(device);
  for (const double seconds : {-1.0, std::nan(""), std::numeric_limits<double>::infinity(), 1e30}) {
    EXPECT_EQ(vdla_synchronize(h.stream, seconds, nullptr), VDLA_INVALID) << seconds;
    EXPECT_THAT(vdla_error(), HasSubstr("time-out"));
  }
}

TEST(Misuse, TextsAreOfTheStreamAndOfTheThread) {
  const Opened device("functional");
  const Handles h = Make(device);
  const VdlaStream quiet = device.NewStream();
  EXPECT_EQ(vdla_push_token(h.stream, 0, 2), VDLA_INVALID);
  const std::string first = vdla_stream_error(h.stream);
  EXPECT_EQ(vdla_buffer_free(0), VDLA_HANDLE);
  EXPECT_EQ(vdla_stream_error(h.stream), first) << "kept, whatever else fails";
  EXPECT_STREQ(vdla_stream_error(quiet), "");
  EXPECT_THAT(vdla_error(), HasSubstr("vdla_buffer_free"));
}

}  // namespace
}  // namespace smelt::vdla::driver
