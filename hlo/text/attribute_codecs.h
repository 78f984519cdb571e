// The codecs of the attribute table: one for each form in which a value is written.
#pragma once

#include <charconv>
#include <cmath>
#include <limits>
#include <optional>

#include "absl/strings/escaping.h"
#include "base/str_cat.h"
#include "hlo/computation.h"
#include "hlo/text/attribute_codec.h"
#include "hlo/text/attribute_values.h"

namespace smelt::hlo::text {

// Splits a pointer to a member into the attribute struct and the type of the field.
template <typename T>
struct MemberTraits;
template <typename Class, typename Field>
struct MemberTraits<Field Class::*> {
  using Struct = Class;
  using Type = Field;
};

template <auto Member>
struct FieldOf {
  using Struct = typename MemberTraits<decltype(Member)>::Struct;
  static auto& Of(InstructionDraft& draft) { return std::get<Struct>(draft.attributes).*Member; }
  static const auto& Of(const Instruction& instruction) { return instruction.attributes<Struct>().*Member; }
  static bool IsDefault(const Instruction& instruction) { return Of(instruction) == Struct{}.*Member; }
};

// {0,2,1}
template <auto Member>
struct IntegerListCodec {
  static bool Read(AttributeReader& reader) {
    return ReadIntegerList(reader.scanner, &FieldOf<Member>::Of(reader.draft));
  }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence presence) {
    if (presence == Presence::kOptional && FieldOf<Member>::IsDefault(instruction)) return false;
    AppendIntegerList(&printer.out, FieldOf<Member>::Of(instruction));
    return true;
  }
};

// {0}: a list of one number, where it stands.
template <auto Member>
struct OneOfListCodec : IntegerListCodec<Member> {
  static bool Read(AttributeReader& reader) {
    const char* at = reader.scanner.at();
    if (!IntegerListCodec<Member>::Read(reader)) return false;
    const size_t count = FieldOf<Member>::Of(reader.draft).size();
    return count == 1 || reader.scanner.FailAt(at, "one dimension", StrCat(count, " dimensions"));
  }
};

// {0}: a list in the text, one number in its meaning.
template <auto Member>
struct OneIntegerCodec {
  static bool Read(AttributeReader& reader) {
    const char* at = reader.scanner.at();
    std::vector<int64_t> values;
    if (!ReadIntegerList(reader.scanner, &values)) return false;
    if (values.size() != 1) return reader.scanner.FailAt(at, "one dimension", StrCat(values.size(), " dimensions"));
    FieldOf<Member>::Of(reader.draft) = values[0];
    return true;
  }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence) {
    StrAppend(&printer.out, "{", FieldOf<Member>::Of(instruction), "}");
    return true;
  }
};

// 3
template <auto Member>
struct IntegerCodec {
  static bool Read(AttributeReader& reader) { return reader.scanner.Integer(&FieldOf<Member>::Of(reader.draft)); }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence presence) {
    if (presence == Presence::kOptional && FieldOf<Member>::IsDefault(instruction)) return false;
    StrAppend(&printer.out, FieldOf<Member>::Of(instruction));
    return true;
  }
};

// 3, where absence is no number at all
template <auto Member>
struct OptionalIntegerCodec {
  static bool Read(AttributeReader& reader) {
    return reader.scanner.Integer(&FieldOf<Member>::Of(reader.draft).emplace());
  }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence) {
    if (!FieldOf<Member>::Of(instruction)) return false;
    StrAppend(&printer.out, *FieldOf<Member>::Of(instruction));
    return true;
  }
};

// true
template <auto Member>
struct BooleanCodec {
  static bool Read(AttributeReader& reader) { return reader.scanner.Boolean(&FieldOf<Member>::Of(reader.draft)); }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence presence) {
    if (presence == Presence::kOptional && FieldOf<Member>::IsDefault(instruction)) return false;
    printer.out += FieldOf<Member>::Of(instruction) ? "true" : "false";
    return true;
  }
};

// 0.001
template <auto Member>
struct FloatCodec {
  static bool Read(AttributeReader& reader) {
    const char* at = (reader.scanner.SkipSpace(), reader.scanner.at());
    double value;
    if (!reader.scanner.Float(&value)) return false;
    if (std::abs(value) > std::numeric_limits<float>::max())
      return reader.scanner.FailAt(at, "a number within the range of f32");
    FieldOf<Member>::Of(reader.draft) = static_cast<float>(value);
    return true;
  }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence) {
    char buffer[40];
    const auto result = std::to_chars(buffer, buffer + sizeof(buffer), FieldOf<Member>::Of(instruction));
    printer.out.append(buffer, result.ptr - buffer);
    return true;
  }
};

// kLoop: the names in the order of the enumerators.
template <auto Member, const auto& Names, bool AnyCase = false>
struct EnumeratorCodec {
  static bool Read(AttributeReader& reader) {
    int index;
    if (!ReadEnumerator(reader.scanner, Names, AnyCase, &index)) return false;
    FieldOf<Member>::Of(reader.draft) = static_cast<typename MemberTraits<decltype(Member)>::Type>(index);
    return true;
  }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence presence) {
    if (presence == Presence::kOptional && FieldOf<Member>::IsDefault(instruction)) return false;
    printer.out += Names[static_cast<int>(FieldOf<Member>::Of(instruction))];
    return true;
  }
};

// TOTALORDER, where absence is no value at all
template <auto Member, const auto& Names>
struct OptionalEnumeratorCodec {
  static bool Read(AttributeReader& reader) {
    int index;
    if (!ReadEnumerator(reader.scanner, Names, /*any_case=*/false, &index)) return false;
    FieldOf<Member>::Of(reader.draft) = static_cast<typename MemberTraits<decltype(Member)>::Type::value_type>(index);
    return true;
  }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence) {
    if (!FieldOf<Member>::Of(instruction)) return false;
    printer.out += Names[static_cast<int>(*FieldOf<Member>::Of(instruction))];
    return true;
  }
};

// Values with a form of their own: attribute_values.h has a reader and an appender of the field's type.
template <auto Member, auto ReadValue, auto AppendValue>
struct ValueCodec {
  static bool Read(AttributeReader& reader) { return ReadValue(reader.scanner, &FieldOf<Member>::Of(reader.draft)); }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence presence) {
    if (presence != Presence::kRequired && FieldOf<Member>::IsDefault(instruction)) return false;
    AppendValue(&printer.out, FieldOf<Member>::Of(instruction));
    return true;
  }
};

// Read by rules but kept as written. Printed with the instruction's other raw attributes.
template <bool (*Check)(Scanner&)>
struct RawCodec {
  static bool Read(AttributeReader& reader) {
    reader.scanner.SkipSpace();
    const char* start = reader.scanner.at();
    if (!Check(reader.scanner)) return false;
    reader.draft.raw.push_back({std::string(reader.name), std::string(reader.scanner.From(start))});
    return true;
  }
  static bool Print(const AttributePrinter&, const Instruction&, Presence) { return false; }
};

// A word that is kept: as its table spells it.
template <const auto& Names, bool AnyCase = false>
struct WordCodec {
  static bool Read(AttributeReader& reader) {
    int index;
    if (!ReadEnumerator(reader.scanner, Names, AnyCase, &index)) return false;
    reader.draft.raw.push_back({std::string(reader.name), std::string(Names[index])});
    return true;
  }
  static bool Print(const AttributePrinter&, const Instruction&, Presence) { return false; }
};

// {a,b} of such words
template <const auto& Names, bool AnyCase = false>
struct WordListCodec {
  static bool Read(AttributeReader& reader) {
    if (!reader.scanner.Expect('{')) return false;
    std::string words = "{";
    if (!reader.scanner.Try('}')) {
      do {
        int index;
        if (!ReadEnumerator(reader.scanner, Names, AnyCase, &index)) return false;
        StrAppend(&words, words.size() > 1 ? "," : "", Names[index]);
      } while (reader.scanner.Try(','));
      if (!reader.scanner.Expect('}')) return false;
    }
    reader.draft.raw.push_back({std::string(reader.name), words + "}"});
    return true;
  }
  static bool Print(const AttributePrinter&, const Instruction&, Presence) { return false; }
};

// A called computation: its place in Instruction::called.
template <int Index>
struct CalledCodec {
  static bool Read(AttributeReader& reader) {
    std::vector<Computation*>& called = reader.draft.called;
    if (called.size() <= Index) called.resize(Index + 1);
    return reader.host.ReadComputation(reader.name, &called[Index]);
  }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence) {
    if (static_cast<int64_t>(instruction.called().size()) <= Index) return false;
    printer.names.Append(&printer.out, *instruction.called(Index));
    return true;
  }
};

// {%a, %b}
struct CalledListCodec {
  static bool Read(AttributeReader& reader) {
    if (!reader.scanner.Expect('{')) return false;
    if (reader.scanner.Try('}')) return true;
    do {
      if (!reader.host.ReadComputation(reader.name, &reader.draft.called.emplace_back())) return false;
    } while (reader.scanner.Try(','));
    return reader.scanner.Expect('}');
  }
  static bool Print(const AttributePrinter& printer, const Instruction& instruction, Presence) {
    if (instruction.called().empty()) return false;
    printer.out += '{';
    for (size_t i = 0; i < instruction.called().size(); ++i) {
      if (i > 0) printer.out += ", ";
      printer.names.Append(&printer.out, *instruction.called(i));
    }
    printer.out += '}';
    return true;
  }
};

}  // namespace smelt::hlo::text
