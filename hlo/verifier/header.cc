#include "hlo/verifier/header.h"

#include "base/str_cat.h"
#include "hlo/aliasing.h"
#include "hlo/scanner/integer_list.h"

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

std::optional<std::string> AliasProblem(const Shape& result, const std::vector<Instruction*>& parameters,
                                        const OutputAlias& alias, bool has_outputs) {
  const Shape* output = has_outputs ? Part(result, alias.output) : nullptr;
  if (has_outputs && output == nullptr)
    return StrCat("names part ", PathText(alias.output), " of the result, which is ", result.ToString());
  if (alias.parameter < 0 || alias.parameter >= static_cast<int64_t>(parameters.size()) ||
      parameters[alias.parameter] == nullptr) {
    return StrCat("names parameter ", alias.parameter, ", but the entry computation takes ", parameters.size());
  }
  const Shape& parameter = parameters[alias.parameter]->shape();
  const Shape* input = Part(parameter, alias.part);
  if (input == nullptr) {
    return StrCat("names part ", PathText(alias.part), " of parameter ", alias.parameter, ", which is ",
                  parameter.ToString());
  }
  if (output != nullptr && output->IsArray() && input->IsArray() && output->ByteSize() != input->ByteSize()) {
    return StrCat("gives the result part ", output->ToString(), " the buffer of ", input->ToString(),
                  ", which has another size");
  }
  return std::nullopt;
}

}  // namespace

std::optional<std::string> HeaderProblem(const Module& module) {
  for (const RawAttribute& attribute : module.raw_attributes()) {
    const bool has_outputs = attribute.name == "input_output_alias";
    if (!has_outputs && attribute.name != "buffer_donor") continue;
    const absl::StatusOr<std::vector<OutputAlias>> aliases = ReadAliases(attribute.value, has_outputs);
    if (!aliases.ok()) return StrCat(attribute.name, " ", std::string(aliases.status().message()));
    const std::vector<Instruction*> parameters = module.entry()->Parameters();
    for (const OutputAlias& alias : *aliases) {
      if (std::optional<std::string> problem =
              AliasProblem(module.entry()->root()->shape(), parameters, alias, has_outputs))
        return StrCat(attribute.name, " ", *problem);
    }
  }
  return std::nullopt;
}

}  // namespace smelt::hlo
