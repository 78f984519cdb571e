// What a text says beyond XLA's fields, so that text → proto → text is the identity: attributes that have no field,
// values that the fields would give back in another spelling, and their order.
//
// The writer reads its own fields back and keeps what differs; in most instructions nothing does.
#pragma once

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>
#include <google/protobuf/unknown_field_set.h>

#include <functional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hlo/instruction.h"
#include "hlo/proto/hlo.pb.h"
#include "hlo/proto/reader.h"
#include "hlo/raw_attribute.h"

namespace smelt::hlo::proto {

// Notes in `to` how `said` follows from `given`; touches it only where they differ.
template <typename Message>
void KeepCarried(const std::vector<RawAttribute>& said, const std::vector<RawAttribute>& given, Message* to);

// The reverse. InvalidArgument: an attribute, kept or given, that `is_text` refuses, because printing it would not give
// a text that reads back.
template <typename Message>
absl::Status RestoreCarried(const Message& from, const std::function<bool(const RawAttribute&)>& is_text,
                            std::vector<RawAttribute>* attributes);

// Fields that this schema does not know, or not yet, survive as their bytes in one attribute (kProtoFields). A text
// proto cannot name them, so it has the bytes.
template <typename Message>
void KeepUnknown(const Message& from, std::vector<RawAttribute>* attributes);
template <typename Message>
void RestoreUnknown(const std::vector<RawAttribute>& attributes, ProtoForm form, Message* to);
// The attributes that a text says: all but that one; `buffer` holds them where it is among them.
const std::vector<RawAttribute>& Said(const std::vector<RawAttribute>& attributes, std::vector<RawAttribute>* buffer);

// The same for the attributes with a meaning: notes them all where the fields give other ones.
void KeepTyped(const Instruction& instruction, HloInstructionProto* to);
absl::Status RestoreTyped(const HloInstructionProto& from, Opcode opcode, Attributes* attributes);

// Implementation of the templates.

template <typename Message>
void KeepUnknown(const Message& from, std::vector<RawAttribute>* attributes) {
  google::protobuf::UnknownFieldSet unknown, kept;
  unknown.MergeFrom(from.GetReflection()->GetUnknownFields(from));
  if (from.has_smelt_kept() && kept.ParseFromString(from.smelt_kept().unknown())) {
    // Only unknown fields: bytes of a field that the schema knows would be read as that field the next time.
    for (int i = 0; i < kept.field_count(); ++i) {
      if (from.GetDescriptor()->FindFieldByNumber(kept.field(i).number()) == nullptr) unknown.AddField(kept.field(i));
    }
  }
  if (unknown.empty()) return;
  RawAttribute& attribute = attributes->emplace_back(RawAttribute{std::string(kProtoFields), ""});
  unknown.SerializeToString(&attribute.value);
}

template <typename Message>
void RestoreUnknown(const std::vector<RawAttribute>& attributes, ProtoForm form, Message* to) {
  for (const RawAttribute& attribute : attributes) {
    if (attribute.name != kProtoFields) continue;
    if (form == ProtoForm::kText) {
      to->mutable_smelt_kept()->set_unknown(attribute.value);
    } else {
      to->GetReflection()->MutableUnknownFields(to)->ParseFromString(attribute.value);
    }
  }
}

template <typename Message>
void KeepCarried(const std::vector<RawAttribute>& said, const std::vector<RawAttribute>& given, Message* to) {
  if (said == given) return;
  KeptText::List* list = to->mutable_smelt_kept()->mutable_carried();
  for (const RawAttribute& attribute : said) {
    KeptText::Attribute* kept = list->add_attributes();
    kept->set_name(attribute.name);
    bool found = false;
    for (const RawAttribute& other : given) found = found || attribute == other;
    if (!found) kept->set_value(attribute.value);
  }
}

template <typename Message>
absl::Status RestoreCarried(const Message& from, const std::function<bool(const RawAttribute&)>& is_text,
                            std::vector<RawAttribute>* attributes) {
  if (from.has_smelt_kept() && from.smelt_kept().has_carried()) {
    const std::vector<RawAttribute> given = std::move(*attributes);
    attributes->clear();
    for (const KeptText::Attribute& kept : from.smelt_kept().carried().attributes()) {
      RawAttribute& attribute = attributes->emplace_back(RawAttribute{kept.name(), kept.value()});
      if (kept.has_value()) continue;
      for (const RawAttribute& other : given) {
        if (other.name == attribute.name) attribute.value = other.value;
      }
    }
  }
  for (const RawAttribute& attribute : *attributes) {
    if (is_text(attribute)) continue;
    return absl::InvalidArgumentError("attribute `" + attribute.name + "` has the value `" +
                                      attribute.value.substr(0, 80) + "`, which is no text of such an attribute");
  }
  return absl::OkStatus();
}

}  // namespace smelt::hlo::proto
