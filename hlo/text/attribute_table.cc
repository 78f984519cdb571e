// The attribute table: which attributes each opcode takes, in the order in which they are printed.
#include <algorithm>

#include "absl/container/flat_hash_set.h"
#include "hlo/text/attribute_codecs.h"

namespace smelt::hlo::text {
namespace {

using enum Opcode;
using enum Presence;

constexpr std::string_view kDirections[] = {"EQ", "NE", "GE", "GT", "LE", "LT"};
constexpr std::string_view kComparisonTypes[] = {"FLOAT", "TOTALORDER", "SIGNED", "UNSIGNED"};
constexpr std::string_view kDistributions[] = {"rng_uniform", "rng_normal"};
constexpr std::string_view kRandomAlgorithms[] = {"rng_default", "rng_three_fry", "rng_philox"};
constexpr std::string_view kFftTypes[] = {"FFT", "IFFT", "RFFT", "IRFFT"};
constexpr std::string_view kTransposes[] = {"NO_TRANSPOSE", "TRANSPOSE", "ADJOINT"};
constexpr std::string_view kGroupModes[] = {"cross_replica", "cross_partition", "cross_replica_and_partition",
                                            "flattened_id"};
constexpr std::string_view kPrecisions[] = {"default", "high", "highest"};
constexpr std::string_view kPrecisionAlgorithms[] = {"unset",
                                                     "dot_any_f8_any_f8_f32",
                                                     "dot_any_f8_any_f8_f32_fast_accum",
                                                     "dot_f16_f16_f16",
                                                     "dot_f16_f16_f32",
                                                     "dot_bf16_bf16_bf16",
                                                     "dot_bf16_bf16_f32",
                                                     "dot_bf16_bf16_f32_x3",
                                                     "dot_bf16_bf16_f32_x6",
                                                     "dot_bf16_bf16_f32_x9",
                                                     "dot_tf32_tf32_f32",
                                                     "dot_tf32_tf32_f32_x3",
                                                     "dot_f32_f32_f32",
                                                     "dot_f64_f64_f64"};
constexpr std::string_view kConvolutionKinds[] = {"unset", "fprop", "dgrad", "wgrad"};
constexpr std::string_view kPaddingTypes[] = {"PADDING_INVALID", "PADDING_VALID", "PADDING_SAME"};
constexpr std::string_view kCallSchedules[] = {"SCHEDULE_NONE", "SCHEDULE_LATEST", "SCHEDULE_EARLIEST"};
constexpr std::string_view kApiVersions[] = {"API_VERSION_ORIGINAL", "API_VERSION_STATUS_RETURNING",
                                             "API_VERSION_STATUS_RETURNING_UNIFIED", "API_VERSION_TYPED_FFI"};
constexpr std::string_view kFusionKinds[] = {"kLoop", "kInput", "kOutput", "kCustom"};

constexpr bool kAnyCase = true;  // XLA reads these words in capitals and in small letters

struct Row {
  AttributeRule rule;
  std::vector<Opcode> opcodes;
};

template <typename Codec>
Row Attribute(std::string_view name, Presence presence, std::vector<Opcode> opcodes) {
  return {{name, presence, &Codec::Read, &Codec::Print}, std::move(opcodes)};
}

template <bool (*Check)(Scanner&)>
Row Raw(std::string_view name, std::vector<Opcode> opcodes) {
  return Attribute<RawCodec<Check>>(name, kOptional, std::move(opcodes));
}

template <bool (*Check)(Scanner&)>
Row RequiredRaw(std::string_view name, std::vector<Opcode> opcodes) {
  return Attribute<RawCodec<Check>>(name, kRequired, std::move(opcodes));
}

template <const auto& Names, bool AnyCase = false>
Row Words(std::string_view name, std::vector<Opcode> opcodes) {
  return Attribute<WordCodec<Names, AnyCase>>(name, kOptional, std::move(opcodes));
}

// true_computation and false_computation say by their name that the first operand is a predicate; XLA takes no other
// form where it is one.
bool HasPredicateForm(const Instruction& conditional) {
  if (conditional.attributes<ConditionalAttributes>().predicate_form) return true;
  return conditional.called().size() == 2 && conditional.operand_count() > 0 &&
         conditional.operand(0)->shape().IsArray() &&
         conditional.operand(0)->shape().element_type == PrimitiveType::kPred;
}

template <int Index>
struct PredicateBranchCodec {
  static bool Read(AttributeReader& reader) {
    std::get<ConditionalAttributes>(reader.draft.attributes).predicate_form = true;
    return CalledCodec<Index>::Read(reader);
  }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence presence) {
    if (!HasPredicateForm(instruction)) return false;
    return CalledCodec<Index>::Print(printer, instruction, presence);
  }
};

struct BranchesCodec {
  static bool Read(AttributeReader& reader) { return CalledListCodec::Read(reader); }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence presence) {
    if (HasPredicateForm(instruction)) return false;
    return CalledListCodec::Print(printer, instruction, presence);
  }
};

// A custom call's one computation is to_apply or called_computations={...}: several are always the list.
struct CustomCallApplyCodec {
  static bool Read(AttributeReader& reader) { return CalledCodec<0>::Read(reader); }
  static bool Print(const AttributePrinter&, const Instruction&, Presence) { return false; }
};

// Labels with unknown dimensions (`?`) have no typed form: they are kept as written, and such a convolution does not
// verify.
struct DimensionLabelsCodec {
  using Known = ValueCodec<&ConvolutionAttributes::dimensions, ReadDimensionLabels, AppendDimensionLabels>;
  static bool Read(AttributeReader& reader) {
    reader.scanner.SkipSpace();
    const char* start = reader.scanner.at();
    if (!CheckUnknownLabels(reader.scanner)) return false;
    const std::string_view labels = reader.scanner.From(start);
    // Without exactly one of each letter on either side, the question marks do not help.
    if (labels.find('?') != std::string_view::npos && labels.find_first_of("bfio") != std::string_view::npos &&
        std::count(labels.begin(), labels.end(), 'b') == 2 && std::count(labels.begin(), labels.end(), 'f') == 2) {
      reader.draft.raw.push_back({std::string(reader.name), std::string(labels)});
      return true;
    }
    reader.scanner.set_at(start);
    return Known::Read(reader);
  }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence presence) {
    for (const RawAttribute& raw : instruction.raw_attributes()) {
      if (raw.name == "dim_labels") return false;
    }
    return Known::Print(printer, instruction, presence);
  }
};

// A string that holds braces is written as the braces themselves, as XLA does.
struct BackendConfigCodec {
  static bool Read(AttributeReader& reader) {
    reader.scanner.SkipSpace();
    const char* start = reader.scanner.at();
    std::string config;
    if (reader.scanner.Peek() == '"') {
      if (!ReadString(reader.scanner, &config)) return false;
      Scanner content(config, "");
      const bool braces =
          content.Peek() == '{' && config[0] == '{' && CheckBraces(content) && content.at() == content.end();
      if (!braces) config = reader.scanner.From(start);
    } else {
      if (!CheckBackendConfig(reader.scanner)) return false;
      config = reader.scanner.From(start);
    }
    reader.draft.raw.push_back({std::string(reader.name), std::move(config)});
    return true;
  }
  static bool Print(const AttributePrinter&, const Instruction&, Presence) { return false; }
};

struct ResultAccuracyCodec {
  static bool Read(AttributeReader& reader) {
    std::string accuracy;
    if (!ReadResultAccuracy(reader.scanner, &accuracy)) return false;
    if (!accuracy.empty()) reader.draft.raw.push_back({std::string(reader.name), std::move(accuracy)});
    return true;
  }
  static bool Print(const AttributePrinter&, const Instruction&, Presence) { return false; }
};

struct ReplicaGroupsCodec {
  static bool Read(AttributeReader& reader) {
    return ReadReplicaGroups(reader.scanner, &std::get<CollectiveAttributes>(reader.draft.attributes).replica_groups);
  }
  // All devices: XLA writes `{}`.
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence) {
    const std::string& groups = instruction.attributes<CollectiveAttributes>().replica_groups;
    printer.out += groups.empty() ? "{}" : groups;
    return true;
  }
};

struct ControlPredecessorsCodec {
  static bool Read(AttributeReader& reader) {
    if (!reader.scanner.Expect('{')) return false;
    do {
      if (!reader.host.ReadInstructionName(&reader.draft.control_predecessors.emplace_back())) return false;
    } while (reader.scanner.Try(','));
    return reader.scanner.Expect('}');
  }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence) {
    if (instruction.control_predecessors().empty()) return false;
    printer.out += '{';
    for (const Instruction* predecessor : instruction.control_predecessors()) {
      if (printer.out.back() != '{') printer.out += ", ";
      printer.names.Append(&printer.out, *predecessor);
    }
    printer.out += '}';
    return true;
  }
};

const std::vector<Opcode> kDots = {kDot, kRaggedDot, kScaledDot};
const std::vector<Opcode> kGroupCollectives = {kAllGather, kAllGatherStart,      kAllReduce,      kAllReduceStart,
                                               kAllToAll,  kCollectiveBroadcast, kRaggedAllToAll, kReduceScatter};
const std::vector<Opcode> kChannelCollectives = {
    kAllGather,         kAllGatherStart,         kAllReduce,      kAllReduceStart, kAllToAll, kCollectiveBroadcast,
    kCollectivePermute, kCollectivePermuteStart, kRaggedAllToAll, kReduceScatter};
const std::vector<Opcode> kTransfers = {kSend, kSendDone, kRecv, kRecvDone};
const std::vector<Opcode> kAsync = {kAsyncStart, kAsyncUpdate, kAsyncDone};
const std::vector<Opcode> kInexact = {kAcos,  kAcosh, kAsin, kAsinh, kAtan2, kAtanh, kCbrt,     kCos,
                                      kCosh,  kErf,   kExp,  kExpm1, kLog,   kLog1p, kLogistic, kPower,
                                      kRsqrt, kSin,   kSinh, kSqrt,  kTan,   kTanh};

std::vector<Row> Rows() {
  return {
      Attribute<IntegerListCodec<&DimensionsAttributes::dimensions>>(
          "dimensions", kRequired, {kConcatenate, kReduce, kReverse, kTranspose, kGetDimensionSize, kSetDimensionSize}),
      Attribute<IntegerListCodec<&DimensionsAttributes::dimensions>>("dimensions", kAlwaysPrinted, {kBroadcast, kMap}),
      Attribute<IntegerCodec<&IotaAttributes::dimension>>("iota_dimension", kRequired, {kIota}),
      Attribute<IntegerCodec<&TupleIndexAttributes::index>>("index", kRequired, {kGetTupleElement}),
      Attribute<EnumeratorCodec<&CompareAttributes::direction, kDirections>>("direction", kRequired, {kCompare}),
      Attribute<OptionalEnumeratorCodec<&CompareAttributes::type, kComparisonTypes>>("type", kOptional, {kCompare}),
      Attribute<ValueCodec<&SliceAttributes::dimensions, ReadSlices, AppendSlices>>("slice", kRequired, {kSlice}),
      Attribute<IntegerListCodec<&DynamicSliceAttributes::sizes>>("dynamic_slice_sizes", kRequired, {kDynamicSlice}),
      Attribute<ValueCodec<&PadAttributes::dimensions, ReadPadding, AppendPadding>>("padding", kRequired, {kPad}),

      Attribute<IntegerListCodec<&DotAttributes::lhs_batch>>("lhs_batch_dims", kOptional, kDots),
      Attribute<IntegerListCodec<&DotAttributes::lhs_contracting>>("lhs_contracting_dims", kAlwaysPrinted, kDots),
      Attribute<IntegerListCodec<&DotAttributes::rhs_batch>>("rhs_batch_dims", kOptional, kDots),
      Attribute<IntegerListCodec<&DotAttributes::rhs_contracting>>("rhs_contracting_dims", kAlwaysPrinted, kDots),
      Attribute<IntegerListCodec<&DotAttributes::lhs_ragged>>("lhs_ragged_dims", kOptional, {kRaggedDot}),
      Attribute<IntegerListCodec<&DotAttributes::rhs_group>>("rhs_group_dims", kOptional, {kRaggedDot}),

      Attribute<ValueCodec<&WindowAttributes::window, ReadWindow, AppendWindow>>("window", kOptional,
                                                                                 {kReduceWindow, kSelectAndScatter}),
      Attribute<ValueCodec<&ConvolutionAttributes::window, ReadWindow, AppendWindow>>("window", kOptional,
                                                                                      {kConvolution}),
      Attribute<DimensionLabelsCodec>("dim_labels", kRequired, {kConvolution}),
      Attribute<IntegerCodec<&ConvolutionAttributes::feature_group_count>>("feature_group_count", kOptional,
                                                                           {kConvolution}),
      Attribute<IntegerCodec<&ConvolutionAttributes::batch_group_count>>("batch_group_count", kOptional,
                                                                         {kConvolution}),

      Attribute<IntegerListCodec<&GatherAttributes::offset_dims>>("offset_dims", kRequired, {kGather}),
      Attribute<IntegerListCodec<&GatherAttributes::collapsed_slice_dims>>("collapsed_slice_dims", kRequired,
                                                                           {kGather}),
      Attribute<IntegerListCodec<&GatherAttributes::start_index_map>>("start_index_map", kRequired, {kGather}),
      Attribute<IntegerListCodec<&GatherAttributes::operand_batching_dims>>("operand_batching_dims", kOptional,
                                                                            {kGather}),
      Attribute<IntegerListCodec<&GatherAttributes::start_indices_batching_dims>>("start_indices_batching_dims",
                                                                                  kOptional, {kGather}),
      Attribute<IntegerCodec<&GatherAttributes::index_vector_dim>>("index_vector_dim", kRequired, {kGather}),
      Attribute<IntegerListCodec<&GatherAttributes::slice_sizes>>("slice_sizes", kRequired, {kGather}),
      Attribute<BooleanCodec<&GatherAttributes::indices_are_sorted>>("indices_are_sorted", kOptional, {kGather}),

      Attribute<IntegerListCodec<&ScatterAttributes::update_window_dims>>("update_window_dims", kRequired, {kScatter}),
      Attribute<IntegerListCodec<&ScatterAttributes::inserted_window_dims>>("inserted_window_dims", kRequired,
                                                                            {kScatter}),
      Attribute<IntegerListCodec<&ScatterAttributes::scatter_dims_to_operand_dims>>("scatter_dims_to_operand_dims",
                                                                                    kRequired, {kScatter}),
      Attribute<IntegerListCodec<&ScatterAttributes::input_batching_dims>>("input_batching_dims", kOptional,
                                                                           {kScatter}),
      Attribute<IntegerListCodec<&ScatterAttributes::scatter_indices_batching_dims>>("scatter_indices_batching_dims",
                                                                                     kOptional, {kScatter}),
      Attribute<IntegerCodec<&ScatterAttributes::index_vector_dim>>("index_vector_dim", kRequired, {kScatter}),
      Attribute<BooleanCodec<&ScatterAttributes::indices_are_sorted>>("indices_are_sorted", kOptional, {kScatter}),
      Attribute<BooleanCodec<&ScatterAttributes::unique_indices>>("unique_indices", kOptional, {kScatter}),

      Attribute<OneIntegerCodec<&SortAttributes::dimension>>("dimensions", kRequired, {kSort}),
      Attribute<BooleanCodec<&SortAttributes::is_stable>>("is_stable", kOptional, {kSort}),
      Attribute<IntegerCodec<&TopKAttributes::k>>("k", kRequired, {kTopK}),
      Attribute<BooleanCodec<&TopKAttributes::largest>>("largest", kAlwaysPrinted, {kTopK}),
      Attribute<BooleanCodec<&TopKAttributes::is_stable>>("is_stable", kOptional, {kTopK}),
      Attribute<EnumeratorCodec<&RngAttributes::distribution, kDistributions, kAnyCase>>("distribution", kRequired,
                                                                                         {kRng}),
      Attribute<EnumeratorCodec<&RngBitGeneratorAttributes::algorithm, kRandomAlgorithms, kAnyCase>>(
          "algorithm", kRequired, {kRngBitGenerator}),
      Attribute<IntegerCodec<&RngStateAttributes::delta>>("delta", kRequired, {kRngGetAndUpdateState}),
      Attribute<EnumeratorCodec<&FftAttributes::type, kFftTypes>>("fft_type", kRequired, {kFft}),
      Attribute<IntegerListCodec<&FftAttributes::lengths>>("fft_length", kRequired, {kFft}),
      Attribute<BooleanCodec<&CholeskyAttributes::lower>>("lower", kOptional, {kCholesky}),
      Attribute<BooleanCodec<&TriangularSolveAttributes::left_side>>("left_side", kOptional, {kTriangularSolve}),
      Attribute<BooleanCodec<&TriangularSolveAttributes::lower>>("lower", kOptional, {kTriangularSolve}),
      Attribute<BooleanCodec<&TriangularSolveAttributes::unit_diagonal>>("unit_diagonal", kOptional,
                                                                         {kTriangularSolve}),
      Attribute<EnumeratorCodec<&TriangularSolveAttributes::transpose_a, kTransposes>>("transpose_a", kAlwaysPrinted,
                                                                                       {kTriangularSolve}),
      Attribute<FloatCodec<&BatchNormAttributes::epsilon>>("epsilon", kRequired,
                                                           {kBatchNormGrad, kBatchNormInference, kBatchNormTraining}),
      Attribute<IntegerCodec<&BatchNormAttributes::feature_index>>(
          "feature_index", kRequired, {kBatchNormGrad, kBatchNormInference, kBatchNormTraining}),
      Attribute<IntegerCodec<&ReducePrecisionAttributes::exponent_bits>>("exponent_bits", kRequired,
                                                                         {kReducePrecision}),
      Attribute<IntegerCodec<&ReducePrecisionAttributes::mantissa_bits>>("mantissa_bits", kRequired,
                                                                         {kReducePrecision}),

      Attribute<EnumeratorCodec<&FusionAttributes::kind, kFusionKinds>>("kind", kRequired, {kFusion}),
      Attribute<OneIntegerCodec<&ScanAttributes::dimension>>("dimensions", kRequired, {kScan}),
      Attribute<IntegerCodec<&ScanAttributes::num_carries>>("num_carries", kRequired, {kScan}),
      Attribute<BooleanCodec<&ScanAttributes::is_reverse>>("is_reverse", kOptional, {kScan}),
      Attribute<BooleanCodec<&ScanAttributes::is_associative>>("is_associative", kOptional, {kScan}),
      Attribute<ValueCodec<&CustomCallAttributes::target, ReadString, AppendString>>("custom_call_target", kRequired,
                                                                                     {kCustomCall}),
      Attribute<BooleanCodec<&CustomCallAttributes::has_side_effect>>("custom_call_has_side_effect", kOptional,
                                                                      {kCustomCall}),

      Attribute<OptionalIntegerCodec<&CollectiveAttributes::channel_id>>("channel_id", kOptional, kChannelCollectives),
      Attribute<ReplicaGroupsCodec>("replica_groups", kAlwaysPrinted, kGroupCollectives),
      Attribute<IntegerListCodec<&CollectiveAttributes::dimensions>>("dimensions", kRequired,
                                                                     {kAllGather, kAllGatherStart, kReduceScatter}),
      Attribute<OneOfListCodec<&CollectiveAttributes::dimensions>>("dimensions", kOptional, {kAllToAll}),
      Attribute<IntegerListCodec<&CollectiveAttributes::dimensions>>("dimensions", kOptional, {kRaggedAllToAll}),

      // Called computations: the places are those of Instruction::called.
      Attribute<CalledCodec<1>>("condition", kRequired, {kWhile}),
      Attribute<CalledCodec<0>>("body", kRequired, {kWhile}),
      Attribute<PredicateBranchCodec<0>>("true_computation", kOptional, {kConditional}),
      Attribute<PredicateBranchCodec<1>>("false_computation", kOptional, {kConditional}),
      Attribute<BranchesCodec>("branch_computations", kOptional, {kConditional}),
      Attribute<CalledCodec<0>>("select", kRequired, {kSelectAndScatter}),
      Attribute<CalledCodec<1>>("scatter", kRequired, {kSelectAndScatter}),
      Attribute<CalledCodec<0>>("calls", kRequired, {kFusion}),
      Attribute<CalledCodec<0>>("calls", kOptional, kAsync),
      Attribute<CalledCodec<0>>(
          "to_apply", kRequired,
          {kAllReduce, kAllReduceStart, kCall, kMap, kReduce, kReduceScatter, kReduceWindow, kScan, kScatter, kSort}),
      Attribute<CustomCallApplyCodec>("to_apply", kOptional, {kCustomCall}),
      Attribute<CalledListCodec>("called_computations", kOptional, {kCustomCall}),

      // Carried as written.
      Raw<CheckBooleanList>("parameter_replication", {kParameter}),
      Raw<CheckInteger>("channel_id", kTransfers),
      Raw<CheckBoolean>("is_host_transfer", kTransfers),
      Raw<CheckBoolean>("constrain_layout",
                        {kAllGather, kAllGatherStart, kAllReduce, kAllReduceStart, kAllToAll, kReduceScatter}),
      Raw<CheckBoolean>("use_global_device_ids",
                        {kAllGather, kAllGatherStart, kAllReduce, kAllReduceStart, kReduceScatter}),
      Words<kGroupModes>("mode", {kAllReduce, kAllReduceStart, kReduceScatter}),
      Raw<CheckBoolean>("has_dynamic_root", {kCollectiveBroadcast}),
      RequiredRaw<CheckIntegerPairs>("source_target_pairs", {kCollectivePermute, kCollectivePermuteStart}),
      Raw<CheckIntegerLists>("slice_sizes", {kCollectivePermute, kCollectivePermuteStart}),
      Raw<CheckString>("async_execution_thread", kAsync),
      Raw<CheckOperandAliasing>("output_to_operand_aliasing",
                                {kAsyncStart, kAsyncUpdate, kAsyncDone, kCustomCall, kFusion}),
      Raw<CheckBoolean>("is_composite", {kCall}),
      Raw<CheckInt32>("cross_program_prefetch_index", {kCopyStart}),
      RequiredRaw<CheckDomain>("domain", {kDomain}),
      Raw<CheckString>("infeed_config", {kInfeed}),
      Raw<CheckString>("outfeed_config", {kOutfeed}),
      Raw<CheckShape>("outfeed_shape", {kOutfeed}),
      Raw<CheckInteger>("inferred_dimension", {kReshape}),
      Attribute<WordListCodec<kPrecisions, kAnyCase>>("operand_precision", kOptional,
                                                      {kConvolution, kCustomCall, kDot, kRaggedDot, kScaledDot}),
      Words<kPrecisionAlgorithms, kAnyCase>("algorithm", {kConvolution, kDot, kScaledDot}),
      Words<kConvolutionKinds>("convolution_kind", {kConvolution}),
      Raw<CheckSparsityConfig>("sparsity_config", {kConvolution}),
      Attribute<ResultAccuracyCodec>("result_accuracy", kOptional, kInexact),
      Raw<CheckWindow>("window", {kCustomCall}),
      Raw<CheckCustomLabels>("dim_labels", {kCustomCall}),
      Raw<CheckInteger>("feature_group_count", {kCustomCall}),
      Raw<CheckInteger>("batch_group_count", {kCustomCall}),
      Raw<CheckShapeList>("operand_layout_constraints", {kCustomCall}),
      Words<kPaddingTypes>("padding_type", {kCustomCall}),
      Raw<CheckLiteral>("literal", {kCustomCall}),
      Words<kCallSchedules, kAnyCase>("schedule", {kCustomCall}),
      Words<kApiVersions, kAnyCase>("api_version", {kCustomCall}),
  };
}

struct Table {
  std::vector<AttributeRule> by_opcode[kOpcodeCount];
  std::vector<AttributeRule> common;
  absl::flat_hash_set<std::string_view> names;
};

const Table& TheTable() {
  static const Table& table = *[] {
    auto* made = new Table();
    for (const Row& row : Rows()) {
      made->names.insert(row.rule.name);
      for (Opcode opcode : row.opcodes) made->by_opcode[static_cast<int>(opcode)].push_back(row.rule);
    }
    const Row common[] = {
        Attribute<ControlPredecessorsCodec>("control-predecessors", kOptional, {}),
        Raw<CheckMetadata>("metadata", {}),
        Raw<CheckSharding>("sharding", {}),
        Attribute<BackendConfigCodec>("backend_config", kOptional, {}),
        Raw<CheckFrontendAttributes>("frontend_attributes", {}),
        Raw<CheckStatistics>("statistics", {}),
        Raw<CheckOrigin>("origin", {}),
    };
    for (const Row& row : common) {
      made->names.insert(row.rule.name);
      made->common.push_back(row.rule);
    }
    return made;
  }();
  return table;
}

}  // namespace

absl::Span<const AttributeRule> AttributeRules(Opcode opcode) { return TheTable().by_opcode[static_cast<int>(opcode)]; }

absl::Span<const AttributeRule> CommonAttributeRules() { return TheTable().common; }

bool IsKnownAttribute(std::string_view name) { return TheTable().names.contains(name) || IsPartName(name); }

}  // namespace smelt::hlo::text
