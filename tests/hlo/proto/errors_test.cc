// Broken protos: one error, which names the file and the place; no abort, no memory for what is not there.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>

#include "hlo/proto/hlo.pb.h"
#include "hlo/proto/reader.h"
#include "hlo/proto/writer.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"

namespace smelt::hlo {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::StartsWith;

constexpr char kText[] = R"(HloModule m
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT c = f32[] add(a, b) }
ENTRY e {
  x = f32[4]{0} parameter(0)
  k = f32[4]{0} constant({1, 2, 3, 4})
  y = f32[4]{0} add(x, k)
  z = f32[] constant(0)
  ROOT r = f32[] reduce(y, z), dimensions={0}, to_apply=sum
}
)";

std::string Bytes() { return *WriteProto(**ParseModule(kText), ProtoForm::kBinary); }

std::string ErrorOf(std::string_view bytes, ProtoForm form = ProtoForm::kBinary) {
  ProtoOptions options;
  options.file_name = "bad.pb";
  options.form = form;
  const auto module = ReadProto(bytes, options);
  return module.ok() ? "accepted" : std::string(module.status().message());
}

std::string ErrorAfter(const std::function<void(proto::HloModuleProto&)>& damage) {
  proto::HloModuleProto module;
  EXPECT_TRUE(module.ParseFromString(Bytes()));
  damage(module);
  return ErrorOf(module.SerializeAsString());
}

proto::HloInstructionProto& InstructionNamed(proto::HloModuleProto& module, const std::string& name) {
  for (auto& instruction : *module.mutable_computations(1)->mutable_instructions()) {
    if (instruction.name() == name) return instruction;
  }
  ADD_FAILURE() << "no instruction " << name;
  return *module.mutable_computations(1)->mutable_instructions(0);
}

TEST(ProtoErrors, WhatIsNoProtoIsNamed) {
  EXPECT_THAT(ErrorOf(""), AllOf(StartsWith("bad.pb: "), HasSubstr("it has no computations")));
  EXPECT_THAT(ErrorOf("\xff\xff\xff"), HasSubstr("cut short"));
  EXPECT_THAT(ErrorOf(kText), HasSubstr("looks like HLO text"));
  EXPECT_THAT(ErrorOf("computations { name: }", ProtoForm::kText), StartsWith("bad.pb:1:"));
  EXPECT_THAT(ErrorOf("name: \"m\"", ProtoForm::kText), HasSubstr("it has no computations"));
}

TEST(ProtoErrors, EveryCutIsRefusedOrGivesAModuleThatVerifies) {
  const std::string bytes = Bytes();
  for (size_t size = 0; size < bytes.size(); ++size) ErrorOf(std::string_view(bytes).substr(0, size));
}

TEST(ProtoErrors, EveryDamagedByteIsRefusedOrGivesAModuleThatVerifies) {
  const std::string bytes = Bytes();
  for (size_t at = 0; at < bytes.size(); ++at) {
    for (int value : {0x00, 0x01, 0x7f, 0x80, 0xff}) {
      std::string damaged = bytes;
      damaged[at] = static_cast<char>(value);
      const auto module = ReadProto(damaged, {});
      // What is accepted can be printed and read again.
      if (!module.ok()) continue;
      EXPECT_TRUE(ParseModule(ToText(**module)).ok()) << at << " " << value << "\n" << ToText(**module);
    }
  }
}

TEST(ProtoErrors, NestingHasALimit) {
  proto::HloModuleProto module;
  ASSERT_TRUE(module.ParseFromString(Bytes()));
  // Built from the inside as bytes: a message of that depth would itself be built with recursion.
  std::string shape = "\x10\x0d";  // element_type: TUPLE
  for (int depth = 0; depth < 5000; ++depth) {
    std::string length;
    for (size_t rest = shape.size();;) {
      const bool last = rest < 128;
      length += static_cast<char>(last ? rest : (rest & 127) | 128);
      if (last) break;
      rest >>= 7;
    }
    shape = "\x10\x0d\x22" + length + shape;
  }
  std::string bytes = module.SerializeAsString();
  // A computation whose one instruction has that shape.
  const auto field = [](char tag, const std::string& content) {
    std::string out(1, tag);
    for (size_t rest = content.size();;) {
      const bool last = rest < 128;
      out += static_cast<char>(last ? rest : (rest & 127) | 128);
      if (last) break;
      rest >>= 7;
    }
    return out + content;
  };
  bytes += field('\x1a', field('\x12', field('\x1a', shape)));
  EXPECT_THAT(ErrorOf(bytes), HasSubstr("no such message"));
}

TEST(ProtoErrors, ReferencesMustBeThere) {
  EXPECT_THAT(ErrorAfter([](auto& m) { InstructionNamed(m, "y").set_operand_ids(0, 99); }),
              AllOf(HasSubstr("computation e, instruction y"), HasSubstr("operand 99 is no instruction")));
  EXPECT_THAT(ErrorAfter([](auto& m) { InstructionNamed(m, "y").add_control_predecessor_ids(98); }),
              HasSubstr("control predecessor 98 is no instruction"));
  EXPECT_THAT(ErrorAfter([](auto& m) { InstructionNamed(m, "r").set_called_computation_ids(0, 7); }),
              HasSubstr("calls computation 7, which there is not"));
  EXPECT_THAT(ErrorAfter([](auto& m) { m.mutable_computations(1)->set_root_id(55); }), HasSubstr("its root has id 55"));
  EXPECT_THAT(ErrorAfter([](auto& m) {
                m.set_entry_computation_id(9);
                m.set_entry_computation_name("nobody");
              }),
              HasSubstr("the entry computation has id 9 and name \"nobody\""));
}

TEST(ProtoErrors, IdsMustDiffer) {
  EXPECT_THAT(ErrorAfter([](auto& m) { InstructionNamed(m, "y").set_id(InstructionNamed(m, "k").id()); }),
              HasSubstr("which another one has"));
  EXPECT_THAT(ErrorAfter([](auto& m) { m.mutable_computations(1)->set_id(0); }), HasSubstr("which another one has"));
}

TEST(ProtoErrors, CyclesAreRefused) {
  EXPECT_THAT(ErrorAfter([](auto& m) { InstructionNamed(m, "y").set_operand_ids(0, InstructionNamed(m, "r").id()); }),
              HasSubstr("depends on itself"));
  EXPECT_THAT(
      ErrorAfter([](auto& m) { InstructionNamed(m, "r").set_called_computation_ids(0, m.computations(1).id()); }),
      HasSubstr("computation e calls itself"));
}

TEST(ProtoErrors, LiteralsMustHoldTheirValues) {
  EXPECT_THAT(ErrorAfter([](auto& m) { InstructionNamed(m, "k").mutable_literal()->mutable_f32s()->RemoveLast(); }),
              AllOf(HasSubstr("instruction k"), HasSubstr("expected 4 values, found 3")));
  EXPECT_THAT(ErrorAfter([](auto& m) { InstructionNamed(m, "k").clear_literal(); }),
              HasSubstr("the constant has no literal"));
  // Half an exabyte that is not there.
  EXPECT_THAT(ErrorAfter([](auto& m) {
                auto& constant = InstructionNamed(m, "k");
                constant.mutable_shape()->set_dimensions(0, int64_t{1} << 56);
                constant.mutable_literal()->mutable_shape()->set_dimensions(0, int64_t{1} << 56);
              }),
              HasSubstr("expected 72057594037927936 values, found 4"));
  EXPECT_THAT(ErrorAfter([](auto& m) {
                InstructionNamed(m, "k").mutable_literal()->mutable_shape()->mutable_layout()->set_minor_to_major(0, 3);
              }),
              HasSubstr("no permutation"));
}

TEST(ProtoErrors, ShapesAreChecked) {
  const auto with_shape = [](auto change) {
    return ErrorAfter([&](auto& m) { change(*InstructionNamed(m, "x").mutable_shape()); });
  };
  EXPECT_THAT(with_shape([](auto& s) { s.set_dimensions(0, -4); }), HasSubstr("dimension 0 of a shape has size -4"));
  EXPECT_THAT(with_shape([](auto& s) { s.set_dimensions(0, int64_t{1} << 62); }), HasSubstr("less than 2^60 bytes"));
  EXPECT_THAT(with_shape([](auto& s) { s.set_element_type(static_cast<proto::PrimitiveType>(99)); }),
              HasSubstr("element type 99 is not one of HLO's"));
  EXPECT_THAT(with_shape([](auto& s) { s.add_tuple_shapes()->set_element_type(proto::F32); }),
              HasSubstr("f32 with 1 element shapes"));
}

TEST(ProtoErrors, OpcodesAndAttributesAreChecked) {
  EXPECT_THAT(ErrorAfter([](auto& m) { InstructionNamed(m, "y").set_opcode("frobnicate"); }),
              HasSubstr("\"frobnicate\" is no opcode of HLO"));
  EXPECT_THAT(ErrorAfter([](auto& m) { InstructionNamed(m, "y").add_operand_ids(InstructionNamed(m, "k").id()); }),
              HasSubstr("expected 2 operands of add, found 3"));
  EXPECT_THAT(ErrorAfter([](auto& m) { InstructionNamed(m, "x").set_parameter_number(-1); }),
              HasSubstr("parameter number -1"));
  EXPECT_THAT(ErrorAfter([](auto& m) {
                auto* kept = InstructionNamed(m, "y").mutable_smelt_kept()->mutable_carried()->add_attributes();
                kept->set_name("metadata");
                kept->set_value("{}\n}\nENTRY evil {");
              }),
              HasSubstr("attribute `metadata` has the value"));
}

TEST(ProtoErrors, AxesMustBeOfTheirMesh) {
  const auto module = ParseModule(
      "HloModule m\nENTRY e {\n  a = f32[4] parameter(0)\n"
      "  ROOT g = f32[8] all-gather(a), replica_groups=mesh['x'=2,'y'=2] {'y'}, dimensions={0}\n}\n");
  ASSERT_TRUE(module.ok()) << module.status();
  proto::HloModuleProto to;
  ASSERT_TRUE(to.ParseFromString(*WriteProto(**module, ProtoForm::kBinary)));
  EXPECT_EQ(ErrorOf(to.SerializeAsString()), "accepted");
  auto& gather = *to.mutable_computations(0)->mutable_instructions(1);
  gather.mutable_mesh_axes_replica_group_list()->mutable_axes(0)->set_mesh_axis_index(9);
  EXPECT_THAT(ErrorOf(to.SerializeAsString()),
              AllOf(StartsWith("bad.pb: computation e, instruction g: "),
                    HasSubstr("expected an axis of the mesh, found '9'"), HasSubstr("mesh['x'=2,'y'=2]")));
}

TEST(ProtoErrors, WhatBreaksARuleIsSaidByTheVerifier) {
  EXPECT_THAT(ErrorAfter([](auto& m) { InstructionNamed(m, "r").set_dimensions(0, 5); }),
              AllOf(StartsWith("bad.pb: "), HasSubstr("`r` in computation `e`")));
}

}  // namespace
}  // namespace smelt::hlo
