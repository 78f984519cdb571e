#include "hlo/verifier/header.h"

#include "base/str_cat.h"
#include "hlo/text/attribute_values.h"

namespace smelt::hlo {
namespace {

// Part of a tuple by its path; null where there is none.
const Shape* Part(const Shape& shape, const std::vector<int64_t>& path) {
  const Shape* part = &shape;
  for (int64_t index : path) {
    if (!part->IsTuple() || index < 0 || index >= static_cast<int64_t>(part->tuple_shapes.size())) return nullptr;
    part = &part->tuple_shapes[index];
  }
  return part;
}

std::string PathText(const std::vector<int64_t>& path) {
  std::string text;
  text::AppendIntegerList(&text, path);
  return text;
}

// (0, {1}, may-alias) behind the opening parenthesis.
std::optional<std::string> ReadParameterPart(text::Scanner& scanner, const std::vector<Instruction*>& parameters,
                                             const Shape** part) {
  int64_t number;
  std::vector<int64_t> path;
  if (!scanner.Expect('(') || !scanner.Integer(&number) || !scanner.Expect(',') ||
      !text::ReadIntegerList(scanner, &path)) {
    return "expects (parameter, {index})";
  }
  if (scanner.Try(',')) scanner.TryWord();
  if (!scanner.Expect(')')) return "expects `)`";
  if (number < 0 || number >= static_cast<int64_t>(parameters.size()) || parameters[number] == nullptr) {
    return StrCat("names parameter ", number, ", but the entry computation takes ", parameters.size());
  }
  *part = Part(parameters[number]->shape(), path);
  if (*part == nullptr)
    return StrCat("names part ", PathText(path), " of parameter ", number, ", which is ",
                  parameters[number]->shape().ToString());
  return std::nullopt;
}

std::optional<std::string> AliasProblem(const Module& module, std::string_view value, bool has_outputs) {
  const std::vector<Instruction*> parameters = module.entry()->Parameters();
  const Shape& result = module.entry()->root()->shape();
  text::Scanner scanner(value, "");
  if (!scanner.Expect('{') || scanner.Try('}')) return std::nullopt;
  do {
    const Shape* output = nullptr;
    if (has_outputs) {
      std::vector<int64_t> path;
      if (!text::ReadIntegerList(scanner, &path) || !scanner.Expect(':'))
        return "expects {index}: (parameter, {index})";
      output = Part(result, path);
      if (output == nullptr)
        return StrCat("names part ", PathText(path), " of the result, which is ", result.ToString());
    }
    const Shape* input = nullptr;
    if (std::optional<std::string> problem = ReadParameterPart(scanner, parameters, &input)) return problem;
    if (output != nullptr && output->IsArray() && input->IsArray() && output->ByteSize() != input->ByteSize()) {
      return StrCat("gives the result part ", output->ToString(), " the buffer of ", input->ToString(),
                    ", which has another size");
    }
  } while (scanner.Try(','));
  return std::nullopt;
}

}  // namespace

std::optional<std::string> HeaderProblem(const Module& module) {
  for (const RawAttribute& attribute : module.raw_attributes()) {
    const bool alias = attribute.name == "input_output_alias";
    if (!alias && attribute.name != "buffer_donor") continue;
    if (std::optional<std::string> problem = AliasProblem(module, attribute.value, alias))
      return StrCat(attribute.name, " ", *problem);
  }
  return std::nullopt;
}

}  // namespace smelt::hlo
