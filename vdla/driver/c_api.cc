// The functions of vdla.h over Device, Stream and LoadedProgram.
#include <cstring>
#include <exception>
#include <iterator>
#include <memory>
#include <mutex>
#include <new>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/driver/device.h"
#include "vdla/driver/handles.h"
#include "vdla/driver/loaded_program.h"
#include "vdla/driver/stream.h"
#include "vdla/driver/vdla.h"
#include "vdla/isa/program_file.h"

namespace smelt::vdla::driver {
namespace {

// A stream as C callers know it: with the text of its last failure, which is asked for while the stream works.
struct StreamWithError {
  explicit StreamWithError(std::shared_ptr<Device> device) : stream(std::move(device)) {}
  Stream stream;
  std::mutex mutex;  // of the error alone
  std::string error;
};

// C callers hold numbers, so there is one table of them in the process. It is never destroyed: a thread may still be in
// a call when the process ends.
HandleTable& Handles() {
  static HandleTable* const handles = new HandleTable;
  return *handles;
}

std::string& ErrorOfThread() {
  thread_local std::string error;
  return error;
}

struct CodeName {
  VdlaCode code;
  const char* name;
  absl::StatusCode status;
};
constexpr CodeName kCodes[] = {
    {VDLA_OK, "VDLA_OK", absl::StatusCode::kOk},
    {VDLA_INVALID, "VDLA_INVALID", absl::StatusCode::kInvalidArgument},
    {VDLA_HANDLE, "VDLA_HANDLE", absl::StatusCode::kUnauthenticated},
    {VDLA_NOT_FOUND, "VDLA_NOT_FOUND", absl::StatusCode::kNotFound},
    {VDLA_MEMORY, "VDLA_MEMORY", absl::StatusCode::kResourceExhausted},
    {VDLA_MACHINE, "VDLA_MACHINE", absl::StatusCode::kFailedPrecondition},
    {VDLA_PROGRAM, "VDLA_PROGRAM", absl::StatusCode::kAborted},
    {VDLA_TIMEOUT, "VDLA_TIMEOUT", absl::StatusCode::kDeadlineExceeded},
    {VDLA_TRANSFER, "VDLA_TRANSFER", absl::StatusCode::kDataLoss},
    {VDLA_LOST, "VDLA_LOST", absl::StatusCode::kUnavailable},
    {VDLA_INTERNAL, "VDLA_INTERNAL", absl::StatusCode::kInternal},
};

VdlaCode CodeOf(const absl::Status& status) {
  for (const CodeName& code : kCodes) {
    if (code.status == status.code()) return code.code;
  }
  return VDLA_INTERNAL;
}

// Runs `work`, which returns a Status: nothing it throws leaves the library. `function` stands in front of its text.
template <typename Work>
VdlaCode Call(std::string_view function, Work&& work) {
  try {
    absl::Status status;
    try {
      status = work();
    } catch (const std::bad_alloc&) {
      status = absl::ResourceExhaustedError("this process has no memory left");
    } catch (const std::exception& error) {
      status = absl::InternalError(StrCat("a bug of the driver: ", error.what()));
    }
    if (status.ok()) return VDLA_OK;
    ErrorOfThread() = StrCat(function, ": ", status.message());
    return CodeOf(status);
  } catch (...) {
    return VDLA_MEMORY;  // not even for the text
  }
}

// The same on a stream, which remembers the text.
template <typename Work>
VdlaCode CallStream(std::string_view function, VdlaStream handle, Work&& work) {
  return Call(function, [&]() -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const auto with_error, Handles().Get<StreamWithError>(HandleKind::kStream, handle));
    absl::Status status = work(with_error->stream);
    if (!status.ok()) {
      std::lock_guard<std::mutex> lock(with_error->mutex);
      with_error->error = StrCat(function, ": ", status.message());
    }
    return status;
  });
}

absl::Status NeedPointer(const void* pointer, std::string_view name) {
  if (pointer != nullptr) return absl::OkStatus();
  return absl::InvalidArgumentError(StrCat("`", name, "` is NULL"));
}

template <typename Object>
absl::StatusOr<std::shared_ptr<Object>> Get(HandleKind kind, uint64_t handle) {
  return Handles().Get<Object>(kind, handle);
}

absl::StatusOr<Tokens> TokensOf(uint32_t bits) {
  if (bits > (VDLA_POP_PREV | VDLA_POP_NEXT | VDLA_PUSH_PREV | VDLA_PUSH_NEXT))
    return absl::InvalidArgumentError(StrCat("tokens ", bits, " have bits that are none of VdlaTokens"));
  return Tokens{.pop_prev = (bits & VDLA_POP_PREV) != 0,
                .pop_next = (bits & VDLA_POP_NEXT) != 0,
                .push_prev = (bits & VDLA_PUSH_PREV) != 0,
                .push_next = (bits & VDLA_PUSH_NEXT) != 0};
}

Loops LoopsOf(const VdlaLoops* loops) {
  if (loops == nullptr) return {};
  return {.iter_out = loops->iter_out,
          .iter_in = loops->iter_in,
          .dst_out = loops->dst_out,
          .dst_in = loops->dst_in,
          .src_out = loops->src_out,
          .src_in = loops->src_in,
          .wgt_out = loops->wgt_out,
          .wgt_in = loops->wgt_in};
}

// A number from outside as an enumerator.
template <typename Enumeration>
absl::StatusOr<Enumeration> EnumeratorOf(uint32_t value, int count, std::string_view what) {
  if (value < static_cast<uint32_t>(count)) return static_cast<Enumeration>(value);
  return absl::InvalidArgumentError(StrCat("there is no ", what, " ", value, ": they go from 0 to ", count - 1));
}

using Transfers = absl::Status (Stream::*)(const Buffer&, const Transfer&);

absl::Status RecordTransfer(Stream& stream, VdlaBuffer buffer, const VdlaTransfer* transfer, Transfers record) {
  SMELT_RETURN_IF_ERROR(NeedPointer(transfer, "transfer"));
  SMELT_ASSIGN_OR_RETURN(const auto range, Get<Buffer>(HandleKind::kBuffer, buffer));
  SMELT_ASSIGN_OR_RETURN(const auto memory, EnumeratorOf<isa::Memory>(transfer->memory, isa::kMemories, "memory"));
  SMELT_ASSIGN_OR_RETURN(const Tokens tokens, TokensOf(transfer->tokens));
  return (stream.*record)(*range, {.memory = memory,
                                   .sram_base = transfer->sram_base,
                                   .offset = transfer->offset,
                                   .rows = transfer->rows,
                                   .columns = transfer->columns,
                                   .stride = transfer->stride,
                                   .rows_before = transfer->rows_before,
                                   .rows_after = transfer->rows_after,
                                   .columns_before = transfer->columns_before,
                                   .columns_after = transfer->columns_after,
                                   .pad_value = transfer->pad_value,
                                   .tokens = tokens});
}

absl::Status Add(VdlaDevice device, absl::StatusOr<isa::Program> program, VdlaProgram* handle) {
  SMELT_RETURN_IF_ERROR(program.status());
  SMELT_ASSIGN_OR_RETURN(const auto opened, Get<Device>(HandleKind::kDevice, device));
  SMELT_ASSIGN_OR_RETURN(auto loaded, LoadProgram(*opened, *program));
  *handle = Handles().Add(HandleKind::kProgram, device, std::const_pointer_cast<LoadedProgram>(std::move(loaded)));
  return absl::OkStatus();
}

void Fill(const Statistics& from, VdlaStatistics* to) {
  *to = {.submissions = from.submissions,
         .instructions = from.instructions,
         .multiplications = from.multiplications,
         .host_seconds = from.host_seconds,
         .timed = from.timed ? 1u : 0u,
         .cycles = from.cycles,
         .device_seconds = from.device_seconds,
         .utilization = from.utilization,
         .units = {}};
  for (int u = 0; u < isa::kUnits; ++u) {
    const UnitCycles& unit = from.units[u];
    to->units[u] = {unit.busy, unit.token, unit.dma, unit.port, unit.queue};
  }
}

}  // namespace
}  // namespace smelt::vdla::driver

using namespace smelt::vdla::driver;  // NOLINT: the functions below have no namespace
namespace isa = smelt::vdla::isa;

const char* vdla_code_name(VdlaCode code) {
  for (const CodeName& known : kCodes) {
    if (known.code == code) return known.name;
  }
  return "no VdlaCode";
}

const char* vdla_error(void) { return ErrorOfThread().c_str(); }

const char* vdla_stream_error(VdlaStream stream) {
  thread_local std::string error;
  const VdlaCode code = Call("vdla_stream_error", [&]() -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const auto with_error, Get<StreamWithError>(HandleKind::kStream, stream));
    std::lock_guard<std::mutex> lock(with_error->mutex);
    error = with_error->error;
    return absl::OkStatus();
  });
  return code == VDLA_OK ? error.c_str() : vdla_error();
}

VdlaCode vdla_device_open(const char* port, VdlaDevice* device) {
  return Call("vdla_device_open", [&]() -> absl::Status {
    SMELT_RETURN_IF_ERROR(NeedPointer(port, "port"));
    SMELT_RETURN_IF_ERROR(NeedPointer(device, "device"));
    SMELT_ASSIGN_OR_RETURN(auto opened, Device::Open(port));
    *device = Handles().Add(HandleKind::kDevice, 0, std::move(opened));
    return absl::OkStatus();
  });
}

VdlaCode vdla_device_close(VdlaDevice device) {
  return Call("vdla_device_close", [&] { return Handles().Remove(HandleKind::kDevice, device); });
}

VdlaCode vdla_device_geometry(VdlaDevice device, VdlaGeometry* geometry) {
  return Call("vdla_device_geometry", [&]() -> absl::Status {
    SMELT_RETURN_IF_ERROR(NeedPointer(geometry, "geometry"));
    SMELT_ASSIGN_OR_RETURN(const auto opened, Get<Device>(HandleKind::kDevice, device));
    const isa::Config& machine = opened->machine();
    const auto elements = [&](isa::Memory memory) { return static_cast<uint32_t>(machine.DepthOf(memory)); };
    const auto bytes = [&](isa::Memory memory) { return static_cast<uint32_t>(machine.DramElementBytes(memory)); };
    *geometry = {.batch = static_cast<uint32_t>(machine.batch),
                 .block_in = static_cast<uint32_t>(machine.block_in),
                 .block_out = static_cast<uint32_t>(machine.block_out),
                 .inp_elements = elements(isa::Memory::kInp),
                 .wgt_elements = elements(isa::Memory::kWgt),
                 .acc_elements = elements(isa::Memory::kAcc),
                 .uop_elements = elements(isa::Memory::kUop),
                 .inp_bytes = bytes(isa::Memory::kInp),
                 .wgt_bytes = bytes(isa::Memory::kWgt),
                 .acc_bytes = bytes(isa::Memory::kAcc),
                 .acc8_bytes = bytes(isa::Memory::kAcc8),
                 .uop_bytes = bytes(isa::Memory::kUop),
                 .dram_bytes = static_cast<uint64_t>(machine.dram_bytes),
                 .clock_hz = static_cast<double>(machine.clock_hz)};
    return absl::OkStatus();
  });
}

VdlaCode vdla_buffer_allocate(VdlaDevice device, uint64_t bytes, uint64_t alignment, VdlaBuffer* buffer) {
  return Call("vdla_buffer_allocate", [&]() -> absl::Status {
    SMELT_RETURN_IF_ERROR(NeedPointer(buffer, "buffer"));
    SMELT_ASSIGN_OR_RETURN(const auto opened, Get<Device>(HandleKind::kDevice, device));
    SMELT_ASSIGN_OR_RETURN(Buffer allocated, opened->Allocate(bytes, alignment == 0 ? 1 : alignment));
    *buffer = Handles().Add(HandleKind::kBuffer, device, std::make_shared<Buffer>(std::move(allocated)));
    return absl::OkStatus();
  });
}

VdlaCode vdla_buffer_free(VdlaBuffer buffer) {
  return Call("vdla_buffer_free", [&] { return Handles().Remove(HandleKind::kBuffer, buffer); });
}

VdlaCode vdla_buffer_size(VdlaBuffer buffer, uint64_t* bytes) {
  return Call("vdla_buffer_size", [&]() -> absl::Status {
    SMELT_RETURN_IF_ERROR(NeedPointer(bytes, "bytes"));
    SMELT_ASSIGN_OR_RETURN(const auto range, Get<Buffer>(HandleKind::kBuffer, buffer));
    *bytes = range->size;
    return absl::OkStatus();
  });
}

VdlaCode vdla_copy_to_device(VdlaBuffer buffer, uint64_t offset, const void* bytes, uint64_t size) {
  return Call("vdla_copy_to_device", [&]() -> absl::Status {
    if (size > 0) SMELT_RETURN_IF_ERROR(NeedPointer(bytes, "bytes"));
    SMELT_ASSIGN_OR_RETURN(const auto range, Get<Buffer>(HandleKind::kBuffer, buffer));
    Device& device = *range->memory->shared_device();
    return device.Write(*range, offset, {static_cast<const uint8_t*>(bytes), size});
  });
}

VdlaCode vdla_copy_from_device(VdlaBuffer buffer, uint64_t offset, void* bytes, uint64_t size) {
  return Call("vdla_copy_from_device", [&]() -> absl::Status {
    if (size > 0) SMELT_RETURN_IF_ERROR(NeedPointer(bytes, "bytes"));
    SMELT_ASSIGN_OR_RETURN(const auto range, Get<Buffer>(HandleKind::kBuffer, buffer));
    Device& device = *range->memory->shared_device();
    return device.Read(*range, offset, {static_cast<uint8_t*>(bytes), size});
  });
}

VdlaCode vdla_kernel_record(VdlaDevice device, const VdlaMicroOp* micro_ops, uint64_t count, VdlaKernel* kernel) {
  return Call("vdla_kernel_record", [&]() -> absl::Status {
    SMELT_RETURN_IF_ERROR(NeedPointer(micro_ops, "micro_ops"));
    SMELT_RETURN_IF_ERROR(NeedPointer(kernel, "kernel"));
    SMELT_ASSIGN_OR_RETURN(const auto opened, Get<Device>(HandleKind::kDevice, device));
    // Record refuses more; what lies behind so many is not looked at.
    constexpr uint64_t kEnough = 1 << 16;
    std::vector<isa::MicroOp> ops;
    for (uint64_t i = 0; i < count && i < kEnough; ++i)
      ops.push_back({.dst = micro_ops[i].dst, .src = micro_ops[i].src, .wgt = micro_ops[i].wgt});
    SMELT_ASSIGN_OR_RETURN(auto recorded, opened->Record(ops));
    *kernel = Handles().Add(HandleKind::kKernel, device, std::const_pointer_cast<Kernel>(std::move(recorded)));
    return absl::OkStatus();
  });
}

VdlaCode vdla_kernel_free(VdlaKernel kernel) {
  return Call("vdla_kernel_free", [&] { return Handles().Remove(HandleKind::kKernel, kernel); });
}

VdlaCode vdla_stream_create(VdlaDevice device, VdlaStream* stream) {
  return Call("vdla_stream_create", [&]() -> absl::Status {
    SMELT_RETURN_IF_ERROR(NeedPointer(stream, "stream"));
    SMELT_ASSIGN_OR_RETURN(auto opened, Get<Device>(HandleKind::kDevice, device));
    *stream = Handles().Add(HandleKind::kStream, device, std::make_shared<StreamWithError>(std::move(opened)));
    return absl::OkStatus();
  });
}

VdlaCode vdla_stream_destroy(VdlaStream stream) {
  return Call("vdla_stream_destroy", [&] { return Handles().Remove(HandleKind::kStream, stream); });
}

VdlaCode vdla_stream_recorded(VdlaStream stream, uint64_t* instructions) {
  return CallStream("vdla_stream_recorded", stream, [&](Stream& recording) -> absl::Status {
    SMELT_RETURN_IF_ERROR(NeedPointer(instructions, "instructions"));
    *instructions = recording.recorded();
    return absl::OkStatus();
  });
}

VdlaCode vdla_stream_evictions(VdlaStream stream, uint64_t* evictions) {
  return CallStream("vdla_stream_evictions", stream, [&](Stream& recording) -> absl::Status {
    SMELT_RETURN_IF_ERROR(NeedPointer(evictions, "evictions"));
    *evictions = recording.evictions();
    return absl::OkStatus();
  });
}

VdlaCode vdla_load(VdlaStream stream, VdlaBuffer buffer, const VdlaTransfer* transfer) {
  return CallStream("vdla_load", stream,
                    [&](Stream& recording) { return RecordTransfer(recording, buffer, transfer, &Stream::Load); });
}

VdlaCode vdla_store(VdlaStream stream, VdlaBuffer buffer, const VdlaTransfer* transfer) {
  return CallStream("vdla_store", stream,
                    [&](Stream& recording) { return RecordTransfer(recording, buffer, transfer, &Stream::Store); });
}

VdlaCode vdla_gemm(VdlaStream stream, VdlaKernel kernel, uint32_t mode, const VdlaLoops* loops, uint32_t tokens) {
  return CallStream("vdla_gemm", stream, [&](Stream& recording) -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const auto recorded, Get<const Kernel>(HandleKind::kKernel, kernel));
    SMELT_ASSIGN_OR_RETURN(const auto known, EnumeratorOf<isa::GemmMode>(mode, isa::kGemmModes, "mode of GEMM"));
    SMELT_ASSIGN_OR_RETURN(const Tokens flags, TokensOf(tokens));
    return recording.Gemm(recorded, known, LoopsOf(loops), flags);
  });
}

VdlaCode vdla_alu(VdlaStream stream, VdlaKernel kernel, uint32_t op, const VdlaLoops* loops, uint32_t tokens) {
  return CallStream("vdla_alu", stream, [&](Stream& recording) -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const auto recorded, Get<const Kernel>(HandleKind::kKernel, kernel));
    SMELT_ASSIGN_OR_RETURN(const auto known, EnumeratorOf<isa::AluOp>(op, isa::kAluOps, "operation of the ALU"));
    SMELT_ASSIGN_OR_RETURN(const Tokens flags, TokensOf(tokens));
    return recording.Alu(recorded, known, LoopsOf(loops), flags);
  });
}

VdlaCode vdla_alu_immediate(VdlaStream stream, VdlaKernel kernel, uint32_t op, int32_t immediate,
                            const VdlaLoops* loops, uint32_t tokens) {
  return CallStream("vdla_alu_immediate", stream, [&](Stream& recording) -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const auto recorded, Get<const Kernel>(HandleKind::kKernel, kernel));
    SMELT_ASSIGN_OR_RETURN(const auto known, EnumeratorOf<isa::AluOp>(op, isa::kAluOps, "operation of the ALU"));
    SMELT_ASSIGN_OR_RETURN(const Tokens flags, TokensOf(tokens));
    return recording.AluImmediate(recorded, known, immediate, LoopsOf(loops), flags);
  });
}

VdlaCode vdla_push_token(VdlaStream stream, uint32_t from, uint32_t to) {
  return CallStream("vdla_push_token", stream, [&](Stream& recording) -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const auto pusher, EnumeratorOf<isa::Unit>(from, isa::kUnits, "unit"));
    SMELT_ASSIGN_OR_RETURN(const auto popper, EnumeratorOf<isa::Unit>(to, isa::kUnits, "unit"));
    return recording.Push(pusher, popper);
  });
}

VdlaCode vdla_pop_token(VdlaStream stream, uint32_t from, uint32_t to) {
  return CallStream("vdla_pop_token", stream, [&](Stream& recording) -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const auto pusher, EnumeratorOf<isa::Unit>(from, isa::kUnits, "unit"));
    SMELT_ASSIGN_OR_RETURN(const auto popper, EnumeratorOf<isa::Unit>(to, isa::kUnits, "unit"));
    return recording.Pop(pusher, popper);
  });
}

VdlaCode vdla_barrier(VdlaStream stream) {
  return CallStream("vdla_barrier", stream, [](Stream& recording) { return recording.Barrier(); });
}

VdlaCode vdla_program_load_file(VdlaDevice device, const char* path, VdlaProgram* program) {
  return Call("vdla_program_load_file", [&]() -> absl::Status {
    SMELT_RETURN_IF_ERROR(NeedPointer(path, "path"));
    SMELT_RETURN_IF_ERROR(NeedPointer(program, "program"));
    return Add(device, isa::ReadProgramFile(path), program);
  });
}

VdlaCode vdla_program_load(VdlaDevice device, const void* bytes, uint64_t size, VdlaProgram* program) {
  return Call("vdla_program_load", [&]() -> absl::Status {
    SMELT_RETURN_IF_ERROR(NeedPointer(bytes, "bytes"));
    SMELT_RETURN_IF_ERROR(NeedPointer(program, "program"));
    return Add(device, isa::ParseProgram({static_cast<const char*>(bytes), size}, "the program"), program);
  });
}

VdlaCode vdla_program_free(VdlaProgram program) {
  return Call("vdla_program_free", [&] { return Handles().Remove(HandleKind::kProgram, program); });
}

VdlaCode vdla_program_segment(VdlaProgram program, const char* name, VdlaBuffer* buffer) {
  return Call("vdla_program_segment", [&]() -> absl::Status {
    SMELT_RETURN_IF_ERROR(NeedPointer(name, "name"));
    SMELT_RETURN_IF_ERROR(NeedPointer(buffer, "buffer"));
    SMELT_ASSIGN_OR_RETURN(const auto loaded, Get<LoadedProgram>(HandleKind::kProgram, program));
    SMELT_ASSIGN_OR_RETURN(const uint64_t device, Handles().DeviceOf(HandleKind::kProgram, program));
    const LoadedSegment* segment = loaded->Find(name);
    if (segment == nullptr) {
      std::string list;
      for (const LoadedSegment& known : loaded->segments) smelt::StrAppend(&list, list.empty() ? "" : ", ", known.name);
      return absl::NotFoundError(
          smelt::StrCat("program `", loaded->name, "` has no segment `", std::string_view(name), "`; it has ", list));
    }
    *buffer = Handles().Add(HandleKind::kBuffer, device, std::make_shared<Buffer>(segment->buffer));
    return absl::OkStatus();
  });
}

VdlaCode vdla_submit(VdlaStream stream) {
  return CallStream("vdla_submit", stream, [](Stream& recording) { return recording.Submit(); });
}

VdlaCode vdla_submit_program(VdlaStream stream, VdlaProgram program) {
  return CallStream("vdla_submit_program", stream, [&](Stream& recording) -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const auto loaded, Get<const LoadedProgram>(HandleKind::kProgram, program));
    return recording.Submit(loaded);
  });
}

VdlaCode vdla_synchronize(VdlaStream stream, double seconds, VdlaStatistics* statistics) {
  return CallStream("vdla_synchronize", stream, [&](Stream& waiting) -> absl::Status {
    SMELT_ASSIGN_OR_RETURN(const Statistics done, waiting.Synchronize(seconds));
    if (statistics != nullptr) Fill(done, statistics);
    return absl::OkStatus();
  });
}

VdlaCode vdla_stream_clear(VdlaStream stream) {
  return CallStream("vdla_stream_clear", stream, [](Stream& waiting) {
    waiting.Clear();
    return absl::OkStatus();
  });
}
