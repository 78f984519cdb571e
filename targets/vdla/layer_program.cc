#include "targets/vdla/layer_program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "base/status_macros.h"
#include "vdla/lower/emit.h"
#include "vdla/lower/layout.h"

namespace smelt::vdla {
namespace {

absl::Status Named(const std::string& name, const absl::Status& status) {
  if (status.ok()) return status;
  return absl::Status(status.code(), absl::StrCat("layer `", name, "` on VDLA: ", std::string(status.message())));
}

// What accumulators hold for each channel: the s32 as they are, or s64 multipliers with their shift.
absl::StatusOr<std::vector<int32_t>> WordsOf(const ChannelValues& values, const void* data) {
  std::vector<int32_t> words;
  for (const int64_t place : values.places) {
    if (values.shift < 0) {
      words.push_back(static_cast<const int32_t*>(data)[place]);
      continue;
    }
    const int64_t value = static_cast<const int64_t*>(data)[place];
    if (value < -(int64_t{1} << 23) || value >= int64_t{1} << 23) {
      return absl::OutOfRangeError(
          absl::StrCat("multiplier ", value, " of channel ", words.size(), " has more than 24 bits"));
    }
    words.push_back(static_cast<int32_t>((static_cast<uint32_t>(value) << 8) | static_cast<uint32_t>(values.shift)));
  }
  return words;
}

// The input with its padded columns: images, rows, columns, channels.
std::vector<int8_t> Padded(const int8_t* data, const FoldedColumns& folded) {
  const lower::ActivationView& view = folded.source;
  const int64_t channels = static_cast<int64_t>(view.channels.size());
  std::vector<int8_t> padded(view.images.size() * view.height.size() *
                             static_cast<size_t>(folded.padded_width * channels));
  int8_t* row = padded.data();
  for (const int64_t n : view.images) {
    for (const int64_t y : view.height) {
      int8_t* to = row + folded.left * channels;
      for (const int64_t x : view.width) {
        for (const int64_t c : view.channels) *to++ = data[n + y + x + c];
      }
      row += folded.padded_width * channels;
    }
  }
  return padded;
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
  const auto write = [&](const std::string& segment_name, const std::string& bytes) {
    const isa::Segment* segment = program_.Find(segment_name);
    if (segment == nullptr) return absl::InternalError(absl::StrCat("no segment `", segment_name, "`"));
    if (segment->size < bytes.size()) {
      return absl::InternalError(
          absl::StrCat("segment `", segment_name, "` has ", segment->size, " bytes, not ", bytes.size()));
    }
    return machine.dram().Write(segment->address, bytes);
  };
  const auto values_of = [&](const Source& source) { return static_cast<const int8_t*>(Find(source, inputs)); };
  const lower::Convolution& c = layer_.convolution;
  std::vector<int8_t> padded;
  if (layer_.folded.padded_width > 0) padded = Padded(values_of(layer_.data), layer_.folded);
  const int8_t* data = padded.empty() ? values_of(layer_.data) : padded.data();
  SMELT_RETURN_IF_ERROR(write("input", lower::PackActivations(data, layer_.data_view, config.batch, config.block_in)));
  if (c.has_weights()) {
    const int8_t* weights = layer_.weights.exists() ? values_of(layer_.weights) : nullptr;
    SMELT_RETURN_IF_ERROR(write("weights", c.by_channel()
                                               ? lower::PackDiagonalWeights(weights, layer_.weight_view, config)
                                               : lower::PackWeights(weights, layer_.weight_view, config)));
  }
  if (layer_.residual.exists()) {
    SMELT_RETURN_IF_ERROR(write("residual", lower::PackActivations(values_of(layer_.residual), layer_.residual_view,
                                                                   config.batch, config.block_out)));
  }
  for (const ChannelValues& values : layer_.channel_values) {
    SMELT_ASSIGN_OR_RETURN(const std::vector<int32_t> words, WordsOf(values, Find(values.source, inputs)));
    SMELT_RETURN_IF_ERROR(write(values.name, lower::PackChannels(words, config)));
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
  lower::UnpackActivations(bytes, layer_.output_view, program_.config, layer_.convolution.int8_output, output);
  return absl::OkStatus();
}

}  // namespace smelt::vdla
