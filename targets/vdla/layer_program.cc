#include "targets/vdla/layer_program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "targets/vdla/pack.h"
#include "vdla/lower/emit.h"

namespace smelt::vdla {
namespace {

absl::Status Named(const std::string& name, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("layer `", name, "` on VDLA: ", std::string(status.message())));
}

const void* Find(const Source& source, absl::Span<const void* const> inputs) {
  return source.constant != nullptr ? source.constant->raw() : inputs[static_cast<size_t>(source.parameter)];
}

}  // namespace

absl::StatusOr<std::unique_ptr<Simulator>> Simulator::Create(const isa::Config& config, sim::Timing timing) {
  SMELT_ASSIGN_OR_RETURN(std::unique_ptr<sim::Machine> machine, sim::Machine::Create(config));
  return std::unique_ptr<Simulator>(new Simulator(std::move(machine), timing));
}

absl::StatusOr<std::unique_ptr<LayerProgram>> LayerProgram::Build(std::shared_ptr<const fusion::Kernel> kernel,
                                                                  Layer layer,
                                                                  const lower::ConvolutionSchedule& schedule,
                                                                  const isa::Config& config) {
  const std::string name = layer.convolution.name;
  absl::StatusOr<lower::Operations> operations = lower::ScheduleConvolution(layer.convolution, schedule);
  if (!operations.ok()) return Named(name, operations.status());
  // Weights and values of channels come with each run, from the kernel's operands.
  for (lower::DramDeclaration& buffer : operations->dram) {
    if (buffer.role == isa::Role::kConstant) buffer.role = isa::Role::kInput;
  }
  absl::StatusOr<lower::Emitted> emitted = lower::Emit(*operations, config);
  if (!emitted.ok()) return Named(name, emitted.status());
  std::unique_ptr<LayerProgram> program(new LayerProgram(std::move(kernel), std::move(layer), schedule));
  program->program_ = std::move(emitted->program);
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<sim::Machine> machine, sim::Machine::Create(config));
  SMELT_RETURN_IF_ERROR(machine->LoadSegments(program->program_));
  program->report_ = sim::Simulate(*machine, program->program_.instructions, {.timing = sim::Timing::kCycle});
  if (const absl::Status ran = program->report_.ToStatus(); !ran.ok()) {
    return absl::InternalError(
        absl::StrCat("layer `", name, "` on VDLA, schedule ", schedule.ToString(), ": ", std::string(ran.message())));
  }
  return program;
}

std::string LayerProgram::Describe() const {
  return absl::StrCat("# ", schedule_.ToString(), "\n# ", program_.instructions.size(), " instructions, ",
                      report_.cycles, " cycles, GEMM busy ", static_cast<int>(100 * report_.Utilisation()), " %\n");
}

absl::Status LayerProgram::WriteInputs(sim::Machine& machine, absl::Span<const void* const> inputs) const {
  const isa::Config& config = program_.config;
  std::string bytes;
  const auto write = [&](const std::string& segment_name) {
    const isa::Segment* segment = program_.Find(segment_name);
    if (segment == nullptr) return absl::InternalError(absl::StrCat("no segment `", segment_name, "`"));
    if (segment->size < bytes.size()) {
      return absl::InternalError(
          absl::StrCat("segment `", segment_name, "` has ", segment->size, " bytes, not ", bytes.size()));
    }
    return machine.dram().Write(segment->address, bytes);
  };
  const auto bytes_of = [](int64_t count) { return static_cast<size_t>(count); };
  const lower::Convolution& c = layer_.convolution;
  const int64_t in = config.block_in, out = config.block_out;

  bytes.resize(bytes_of(c.images * c.in_blocks * c.height * c.width * in));
  PackActivations(static_cast<const int8_t*>(Find(layer_.data, inputs)), layer_.data_view, in,
                  reinterpret_cast<int8_t*>(bytes.data()));
  SMELT_RETURN_IF_ERROR(write("input"));

  bytes.resize(bytes_of(c.out_blocks * c.in_blocks * c.kernel_height * c.kernel_width * in * out));
  PackWeights(static_cast<const int8_t*>(Find(layer_.weights, inputs)), layer_.weight_view, in, out,
              reinterpret_cast<int8_t*>(bytes.data()));
  SMELT_RETURN_IF_ERROR(write("weights"));

  if (layer_.has_residual) {
    bytes.resize(bytes_of(c.images * c.out_blocks * c.out_height() * c.out_width() * out));
    PackActivations(static_cast<const int8_t*>(Find(layer_.residual, inputs)), layer_.residual_view, out,
                    reinterpret_cast<int8_t*>(bytes.data()));
    SMELT_RETURN_IF_ERROR(write("residual"));
  }
  for (const ChannelValues& values : layer_.channel_values) {
    bytes.resize(bytes_of(c.out_blocks * out * 4));
    SMELT_RETURN_IF_ERROR(PackChannels(values, Find(values.source, inputs), /*wide=*/values.shift >= 0,
                                       layer_.output_view.channels, out, reinterpret_cast<int32_t*>(bytes.data())));
    SMELT_RETURN_IF_ERROR(write(values.name));
  }
  return absl::OkStatus();
}

absl::Status LayerProgram::Run(Simulator& simulator, absl::Span<const void* const> inputs, void* output) const {
  std::lock_guard lock(simulator.mutex_);
  sim::Machine& machine = *simulator.machine_;
  const std::string& name = layer_.convolution.name;
  SMELT_RETURN_IF_ERROR(Named(name, machine.LoadSegments(program_)));
  SMELT_RETURN_IF_ERROR(Named(name, WriteInputs(machine, inputs)));
  // Tokens were proved when the program was built; they do not depend on values.
  const sim::Report report =
      sim::Simulate(machine, program_.instructions, {.timing = simulator.timing_, .find_races = false});
  SMELT_RETURN_IF_ERROR(Named(name, report.ToStatus()));
  const isa::Segment* result = program_.Find("output");
  if (result == nullptr) return absl::InternalError(absl::StrCat("layer `", name, "` has no output"));
  SMELT_ASSIGN_OR_RETURN(const std::string bytes, machine.dram().Read(result->address, result->size));
  UnpackSums(bytes.data(), layer_.output_view, program_.config.block_out, layer_.convolution.int8_output, output);
  return absl::OkStatus();
}

}  // namespace smelt::vdla
