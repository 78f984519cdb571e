#include "hlo/evaluator/scalar_program.h"

#include <cstring>

#include "absl/container/flat_hash_map.h"

namespace smelt::hlo {
namespace {

constexpr int64_t kMaxDepth = 64;             // of nested calls
constexpr int64_t kMaxInstructions = 20'000;  // after inlining

ComparisonDirection Turned(ComparisonDirection direction) {
  using enum ComparisonDirection;
  switch (direction) {
    case kGe:
      return kLe;
    case kGt:
      return kLt;
    case kLe:
      return kGe;
    case kLt:
      return kGt;
    default:
      return direction;
  }
}

}  // namespace

class ScalarProgram::Compiler {
 public:
  explicit Compiler(ScalarProgram* program) : program_(program) {}

  // Registers of the results, or nothing when something is not elementwise on scalars.
  std::optional<std::vector<int32_t>> Inline(const Computation& computation, const std::vector<int32_t>& arguments,
                                             int64_t depth) {
    if (depth > kMaxDepth) return std::nullopt;
    absl::flat_hash_map<const Instruction*, std::vector<int32_t>> values;
    for (const Instruction* instruction : computation.PostOrder()) {
      if (++instructions_ > kMaxInstructions) return std::nullopt;
      std::optional<std::vector<int32_t>> value = Compile(*instruction, arguments, values, depth);
      if (!value) return std::nullopt;
      values[instruction] = *std::move(value);
    }
    return values[computation.root()];
  }

  int32_t NewRegister(PrimitiveType type) {
    program_->register_types_.push_back(type);
    return static_cast<int32_t>(program_->register_types_.size()) - 1;
  }

 private:
  using Values = absl::flat_hash_map<const Instruction*, std::vector<int32_t>>;

  std::optional<std::vector<int32_t>> Compile(const Instruction& instruction, const std::vector<int32_t>& arguments,
                                              const Values& values, int64_t depth) {
    auto operand = [&](int64_t i) -> const std::vector<int32_t>& { return values.at(instruction.operand(i)); };
    const Shape& shape = instruction.shape();
    switch (instruction.opcode()) {
      case Opcode::kTuple: {
        std::vector<int32_t> all;
        for (int64_t i = 0; i < instruction.operand_count(); ++i) {
          if (operand(i).size() != 1) return std::nullopt;  // tuples of tuples do not occur in scalar bodies
          all.push_back(operand(i)[0]);
        }
        return all;
      }
      case Opcode::kGetTupleElement: {
        const size_t index = static_cast<size_t>(instruction.attributes<TupleIndexAttributes>().index);
        if (index >= operand(0).size()) return std::nullopt;
        return std::vector<int32_t>{operand(0)[index]};
      }
      case Opcode::kCall:
      case Opcode::kFusion: {
        std::vector<int32_t> inner;
        for (int64_t i = 0; i < instruction.operand_count(); ++i) {
          if (operand(i).size() != 1) return std::nullopt;
          inner.push_back(operand(i)[0]);
        }
        return Inline(*instruction.called(0), inner, depth + 1);
      }
      default:
        break;
    }
    if (!shape.IsScalar()) return std::nullopt;
    switch (instruction.opcode()) {
      case Opcode::kParameter: {
        const size_t number = static_cast<size_t>(instruction.attributes<ParameterAttributes>().number);
        if (number >= arguments.size()) return std::nullopt;
        return std::vector<int32_t>{arguments[number]};
      }
      case Opcode::kConstant: {
        const int32_t target = NewRegister(shape.element_type);
        program_->constants_.push_back({target, instruction.literal()});
        return std::vector<int32_t>{target};
      }
      case Opcode::kReshape:
      case Opcode::kBroadcast:
      case Opcode::kTranspose:
      case Opcode::kOptimizationBarrier:
        if (!instruction.operand(0)->shape().IsScalar() ||
            instruction.operand(0)->shape().element_type != shape.element_type)
          return std::nullopt;
        return operand(0);
      default:
        break;
    }
    const bool same_bits = instruction.opcode() == Opcode::kBitcast || instruction.opcode() == Opcode::kBitcastConvert;
    if (!IsElementwise(instruction.opcode()) && !same_bits) return std::nullopt;
    absl::StatusOr<ElementwiseKernel> kernel = FindElementwiseKernel(instruction);
    if (!kernel.ok()) return std::nullopt;
    Operation operation{.kernel = *std::move(kernel), .operands = {0, 0, 0}};
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      if (!instruction.operand(i)->shape().IsScalar()) return std::nullopt;
      operation.operands[i] = operand(i)[0];
    }
    operation.result = NewRegister(shape.element_type);
    program_->operations_.push_back(std::move(operation));
    return std::vector<int32_t>{program_->operations_.back().result};
  }

  ScalarProgram* program_;
  int64_t instructions_ = 0;
};

std::unique_ptr<ScalarProgram> ScalarProgram::Compile(const Computation& computation) {
  auto program = std::unique_ptr<ScalarProgram>(new ScalarProgram());
  Compiler compiler(program.get());
  for (const Instruction* parameter : computation.Parameters()) {
    if (parameter == nullptr || !parameter->shape().IsScalar()) return nullptr;
    program->parameters_.push_back(compiler.NewRegister(parameter->shape().element_type));
  }
  std::optional<std::vector<int32_t>> results = compiler.Inline(computation, program->parameters_, 0);
  if (!results) return nullptr;
  program->results_ = *std::move(results);
  for (int32_t& result : program->results_) {
    const PrimitiveType type = program->register_types_[result];
    program->result_types_.push_back(type);
    if (result >= program->parameter_count()) continue;
    // A parameter returned as it is: copied before results are written, since results may lie where parameters do (a
    // body may swap them).
    absl::StatusOr<ElementwiseKernel> copy = FindElementwiseKernel(Opcode::kCopy, {type}, type);
    if (!copy.ok()) return nullptr;
    program->operations_.push_back(
        {.kernel = *std::move(copy), .operands = {result, 0, 0}, .result = compiler.NewRegister(type)});
    result = program->operations_.back().result;
  }

  // What is one operation on the two parameters alone can be done without the program.
  const Instruction* root = computation.root();
  if (program->operations_.size() == 1 && program->results_.size() == 1 && program->parameter_count() == 2 &&
      HasFlag(root->opcode(), kCommutative) && root->operand(0) != root->operand(1) &&
      root->operand(0)->opcode() == Opcode::kParameter && root->operand(1)->opcode() == Opcode::kParameter) {
    program->single_binary_ = root->opcode();
  }
  if (root->opcode() == Opcode::kCompare) program->key_comparison_ = program->FindKeyComparison(*root);
  return program;
}

std::optional<ScalarProgram::KeyComparison> ScalarProgram::FindKeyComparison(const Instruction& root) const {
  constexpr uint8_t kReadsFirst = 1, kReadsSecond = 2;
  std::vector<uint8_t> reads(register_types_.size(), 0);
  for (size_t p = 0; p < parameters_.size(); ++p) reads[parameters_[p]] = p % 2 == 0 ? kReadsFirst : kReadsSecond;
  for (const Operation& operation : operations_) {
    for (int i = 0; i < operation.kernel.arity; ++i) reads[operation.result] |= reads[operation.operands[i]];
  }
  const Operation& compare = operations_.back();
  if (compare.result != results_[0] || IsComplex(compare.kernel.operand_types[0])) return std::nullopt;
  KeyComparison key{root.attributes<CompareAttributes>(), compare.kernel.operand_types[0], compare.operands[0],
                    compare.operands[1]};
  if (reads[key.first] == kReadsSecond && reads[key.second] == kReadsFirst) {
    std::swap(key.first, key.second);
    key.attributes.direction = Turned(key.attributes.direction);
  }
  if (reads[key.first] != kReadsFirst || reads[key.second] != kReadsSecond) return std::nullopt;
  return key;
}

ScalarProgram::Lanes::Lanes(const ScalarProgram& program)
    : program_(program), registers_(program.register_types_.size()), targets_(program.register_types_.size()) {
  storage_.resize(program.register_types_.size());
  auto make = [&](int32_t target) {
    storage_[target] = Literal(Shape::Array(program.register_types_[target], {kLanes}));
    registers_[target] = targets_[target] = storage_[target].raw();
  };
  for (const Operation& operation : program.operations_) make(operation.result);
  for (const Constant& constant : program.constants_) {
    make(constant.target);
    const int64_t bytes = StorageBytes(program.register_types_[constant.target]);
    for (int64_t lane = 0; lane < kLanes; ++lane) {
      std::memcpy(static_cast<char*>(targets_[constant.target]) + lane * bytes, constant.value.raw(), bytes);
    }
  }
}

void ScalarProgram::Lanes::Run(absl::Span<const void* const> parameters, absl::Span<void* const> results,
                               int64_t count) {
  for (size_t i = 0; i < parameters.size(); ++i) registers_[program_.parameters_[i]] = parameters[i];
  for (const Operation& operation : program_.operations_) {
    const void* operands[3] = {registers_[operation.operands[0]], registers_[operation.operands[1]],
                               registers_[operation.operands[2]]};
    operation.kernel.Run(operands, targets_[operation.result], count);
  }
  for (size_t i = 0; i < results.size(); ++i) {
    std::memcpy(results[i], registers_[program_.results_[i]], count * StorageBytes(program_.result_types_[i]));
  }
}

}  // namespace smelt::hlo
