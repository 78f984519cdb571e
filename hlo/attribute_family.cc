#include "hlo/attribute_family.h"

#include <array>

namespace smelt::hlo {
namespace {

using enum Opcode;

std::array<Attributes, kOpcodeCount> MakeFamilies() {
  struct Family {
    Attributes attributes;
    std::vector<Opcode> opcodes;
  };
  const Family families[] = {
      {ParameterAttributes{}, {kParameter}},
      {ConstantAttributes{}, {kConstant}},
      {DimensionsAttributes{},
       {kBroadcast, kConcatenate, kReduce, kReverse, kTranspose, kMap, kGetDimensionSize, kSetDimensionSize}},
      {IotaAttributes{}, {kIota}},
      {TupleIndexAttributes{}, {kGetTupleElement}},
      {CompareAttributes{}, {kCompare}},
      {SliceAttributes{}, {kSlice}},
      {DynamicSliceAttributes{}, {kDynamicSlice}},
      {PadAttributes{}, {kPad}},
      {DotAttributes{}, {kDot, kRaggedDot, kScaledDot}},
      {WindowAttributes{}, {kReduceWindow, kSelectAndScatter}},
      {ConvolutionAttributes{}, {kConvolution}},
      {GatherAttributes{}, {kGather}},
      {ScatterAttributes{}, {kScatter}},
      {SortAttributes{}, {kSort}},
      {TopKAttributes{}, {kTopK}},
      {RngAttributes{}, {kRng}},
      {RngBitGeneratorAttributes{}, {kRngBitGenerator}},
      {RngStateAttributes{}, {kRngGetAndUpdateState}},
      {FftAttributes{}, {kFft}},
      {CholeskyAttributes{}, {kCholesky}},
      {TriangularSolveAttributes{}, {kTriangularSolve}},
      {BatchNormAttributes{}, {kBatchNormGrad, kBatchNormInference, kBatchNormTraining}},
      {ReducePrecisionAttributes{}, {kReducePrecision}},
      {FusionAttributes{}, {kFusion}},
      {ConditionalAttributes{}, {kConditional}},
      {ScanAttributes{}, {kScan}},
      {CustomCallAttributes{}, {kCustomCall}},
      {CollectiveAttributes{},
       {kAllGather, kAllGatherStart, kAllReduce, kAllReduceStart, kAllToAll, kCollectiveBroadcast, kCollectivePermute,
        kCollectivePermuteStart, kRaggedAllToAll, kReduceScatter}},
  };
  std::array<Attributes, kOpcodeCount> by_opcode;  // monostate where no family is named
  for (const Family& family : families) {
    for (Opcode opcode : family.opcodes) by_opcode[static_cast<int>(opcode)] = family.attributes;
  }
  return by_opcode;
}

}  // namespace

const Attributes& EmptyAttributes(Opcode opcode) {
  static const auto& families = *new std::array<Attributes, kOpcodeCount>(MakeFamilies());
  return families[static_cast<int>(opcode)];
}

}  // namespace smelt::hlo
