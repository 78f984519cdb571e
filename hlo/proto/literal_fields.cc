#include "hlo/proto/literal_fields.h"

#include <cstring>
#include <numeric>
#include <vector>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "hlo/proto/shape_fields.h"
#include "hlo/scanner/scanner.h"

namespace smelt::hlo::proto {
namespace {

using Type = smelt::hlo::PrimitiveType;

bool IsPermutation(const std::vector<int64_t>& order, int64_t rank) {
  if (static_cast<int64_t>(order.size()) != rank) return false;
  std::vector<bool> seen(rank);
  for (int64_t dimension : order) {
    if (dimension < 0 || dimension >= rank || seen[dimension]) return false;
    seen[dimension] = true;
  }
  return true;
}

// Calls visit(row-major index) for the elements in the order of the layout.
template <typename Visit>
void ForEachInLayout(const Shape& shape, Visit visit) {
  const int64_t count = shape.ElementCount();
  if (shape.HasDefaultLayout()) {
    for (int64_t i = 0; i < count; ++i) visit(i);
    return;
  }
  const std::vector<int64_t> strides = shape.Strides();
  const std::vector<int64_t>& minor_to_major = shape.layout->minor_to_major;
  std::vector<int64_t> position(shape.rank(), 0);
  int64_t index = 0;
  for (int64_t i = 0; i < count; ++i) {
    visit(index);
    for (int64_t dimension : minor_to_major) {
      index += strides[dimension];
      if (++position[dimension] < shape.dimensions[dimension]) break;
      index -= position[dimension] * strides[dimension];
      position[dimension] = 0;
    }
  }
}

// A type whose values are a repeated field of numbers; a complex element is two.
struct NumberField {
  Type type;
  void (*write)(const Literal&, const Shape&, LiteralProto*);
  int64_t (*count)(const LiteralProto&);  // elements in the proto, -1 for a half
  void (*read)(const LiteralProto&, const Shape&, Literal*);
};

template <typename T>
using Repeated = google::protobuf::RepeatedField<T>;

// kParts numbers of the proto's type Number are an element, which a Literal holds as Values.
template <typename Value, typename Number, int kParts, const Repeated<Number>& (LiteralProto::*Get)() const,
          Repeated<Number>* (LiteralProto::*Mutable)()>
constexpr NumberField Numbers(Type type) {
  return {type,
          [](const Literal& literal, const Shape& shape, LiteralProto* to) {
            auto* field = (to->*Mutable)();
            field->Reserve(static_cast<int>(literal.element_count() * kParts));
            const Value* values = literal.data<Value>().data();
            ForEachInLayout(shape, [&](int64_t index) {
              for (int part = 0; part < kParts; ++part) field->AddAlreadyReserved(values[index * kParts + part]);
            });
          },
          [](const LiteralProto& from) {
            const int64_t count = (from.*Get)().size();
            return count % kParts == 0 ? count / kParts : -1;
          },
          [](const LiteralProto& from, const Shape& shape, Literal* literal) {
            const auto& field = (from.*Get)();
            Value* values = literal->data<Value>().data();
            int next = 0;
            ForEachInLayout(shape, [&](int64_t index) {
              for (int part = 0; part < kParts; ++part) values[index * kParts + part] = field.Get(next++);
            });
          }};
}

// A type whose values are bytes.
struct ByteField {
  Type type;
  const std::string& (LiteralProto::*get)() const;
  std::string* (LiteralProto::*mutable_get)();
};

using L = LiteralProto;

constexpr NumberField kNumberFields[] = {
    Numbers<uint8_t, bool, 1, &L::preds, &L::mutable_preds>(Type::kPred),
    Numbers<int32_t, int32_t, 1, &L::s32s, &L::mutable_s32s>(Type::kS32),
    Numbers<int64_t, int64_t, 1, &L::s64s, &L::mutable_s64s>(Type::kS64),
    Numbers<uint32_t, uint32_t, 1, &L::u32s, &L::mutable_u32s>(Type::kU32),
    Numbers<uint64_t, uint64_t, 1, &L::u64s, &L::mutable_u64s>(Type::kU64),
    Numbers<float, float, 1, &L::f32s, &L::mutable_f32s>(Type::kF32),
    Numbers<double, double, 1, &L::f64s, &L::mutable_f64s>(Type::kF64),
    Numbers<float, float, 2, &L::c64s, &L::mutable_c64s>(Type::kC64),
    Numbers<double, double, 2, &L::c128s, &L::mutable_c128s>(Type::kC128),
};

constexpr ByteField kByteFields[] = {
    {Type::kS1, &L::s1s, &L::mutable_s1s},
    {Type::kS2, &L::s2s, &L::mutable_s2s},
    {Type::kS4, &L::s4s, &L::mutable_s4s},
    {Type::kS8, &L::s8s, &L::mutable_s8s},
    {Type::kS16, &L::s16s, &L::mutable_s16s},
    {Type::kU1, &L::u1s, &L::mutable_u1s},
    {Type::kU2, &L::u2s, &L::mutable_u2s},
    {Type::kU4, &L::u4s, &L::mutable_u4s},
    {Type::kU8, &L::u8s, &L::mutable_u8s},
    {Type::kU16, &L::u16s, &L::mutable_u16s},
    {Type::kF16, &L::f16s, &L::mutable_f16s},
    {Type::kBF16, &L::bf16s, &L::mutable_bf16s},
    {Type::kF8E5M2, &L::f8e5m2s, &L::mutable_f8e5m2s},
    {Type::kF8E4M3, &L::f8e4m3s, &L::mutable_f8e4m3s},
    {Type::kF8E4M3FN, &L::f8e4m3fns, &L::mutable_f8e4m3fns},
    {Type::kF8E4M3B11FNUZ, &L::f8e4m3b11fnuzs, &L::mutable_f8e4m3b11fnuzs},
    {Type::kF8E5M2FNUZ, &L::f8e5m2fnuzs, &L::mutable_f8e5m2fnuzs},
    {Type::kF8E4M3FNUZ, &L::f8e4m3fnuzs, &L::mutable_f8e4m3fnuzs},
    {Type::kF8E3M4, &L::f8e3m4s, &L::mutable_f8e3m4s},
    {Type::kF8E8M0FNU, &L::f8e8m0fnus, &L::mutable_f8e8m0fnus},
    {Type::kF4E2M1FN, &L::f4e2m1fns, &L::mutable_f4e2m1fns},
    {Type::kF6E3M2FN, &L::f6e3m2fns, &L::mutable_f6e3m2fns},
    {Type::kF6E2M3FN, &L::f6e2m3fns, &L::mutable_f6e2m3fns},
};

template <typename Field, size_t count>
const Field* FieldOf(const Field (&fields)[count], Type type) {
  for (const Field& field : fields) {
    if (field.type == type) return &field;
  }
  return nullptr;
}

// A type of fewer bits than a byte: XLA clears the others, a Literal keeps a signed value sign-extended.
uint8_t ToProtoByte(Type type, uint8_t byte) {
  const int bits = BitWidth(type);
  return bits < 8 ? byte & ((1 << bits) - 1) : byte;
}
uint8_t FromProtoByte(Type type, uint8_t byte) {
  const int unused = 8 - BitWidth(type);
  if (unused <= 0) return byte;
  byte = static_cast<uint8_t>(byte << unused);
  return IsSigned(type) ? static_cast<uint8_t>(static_cast<int8_t>(byte) >> unused) : byte >> unused;
}

absl::StatusOr<Literal> Read(const LiteralProto& from, const Shape& shape, int depth) {
  if (shape.IsTuple()) {
    if (depth > text::kNestingLimit) {
      return absl::InvalidArgumentError(
          StrCat("expected at most ", text::kNestingLimit, " nested tuples in a literal"));
    }
    if (from.tuple_literals_size() != static_cast<int>(shape.tuple_shapes.size())) {
      return absl::InvalidArgumentError(
          StrCat("literal of shape ", shape.ToString(), " has ", from.tuple_literals_size(), " elements"));
    }
    std::vector<Literal> elements;
    for (size_t i = 0; i < shape.tuple_shapes.size(); ++i) {
      SMELT_ASSIGN_OR_RETURN(Literal element,
                             Read(from.tuple_literals(static_cast<int>(i)), shape.tuple_shapes[i], depth + 1));
      elements.push_back(std::move(element));
    }
    Literal tuple = Literal::Tuple(std::move(elements));
    return tuple;
  }
  if (shape.IsToken()) return Literal(shape);
  if (!shape.IsArray()) {
    return absl::InvalidArgumentError(StrCat("a literal of shape ", shape.ToString(), " has no values"));
  }
  if (from.sparse_indices_size() > 0) return absl::UnimplementedError("sparse literals are not read");
  if (shape.IsDynamic()) {
    for (int64_t size : shape.dimensions) {
      if (size == kUnboundedSize) return absl::InvalidArgumentError("a literal of unbounded size has no values");
    }
  }
  Shape order = shape;  // the order of the values
  if (from.shape().has_layout()) {
    Shape written;
    SMELT_RETURN_IF_ERROR(ReadShape(from.shape(), &written));
    order.layout = written.layout;
  }
  if (order.layout && !IsPermutation(order.layout->minor_to_major, order.rank())) {
    return absl::InvalidArgumentError(StrCat("literal: the layout of ", order.ToString(/*with_layout=*/true),
                                             " is no permutation of its dimensions"));
  }
  const int64_t count = shape.ElementCount();
  const auto mismatch = [&](int64_t found, std::string_view unit) {
    return absl::InvalidArgumentError(
        StrCat("literal of shape ", shape.ToString(), ": expected ", count, " values, found ", found, unit));
  };
  if (const NumberField* field = FieldOf(kNumberFields, shape.element_type)) {
    if (field->count(from) != count) return mismatch(field->count(from), "");
    SMELT_ASSIGN_OR_RETURN(Literal literal, Literal::Create(shape));
    field->read(from, order, &literal);
    return literal;
  }
  const ByteField* field = FieldOf(kByteFields, shape.element_type);
  if (field == nullptr) {
    return absl::InvalidArgumentError(
        StrCat("literals of type ", PrimitiveTypeName(shape.element_type), " have no field"));
  }
  const std::string& bytes = (from.*field->get)();
  const int64_t width = StorageBytes(shape.element_type);
  if (static_cast<int64_t>(bytes.size()) != count * width)
    return mismatch(static_cast<int64_t>(bytes.size()), " bytes");
  SMELT_ASSIGN_OR_RETURN(Literal literal, Literal::Create(shape));
  char* to = static_cast<char*>(literal.raw());
  const char* at = bytes.data();
  ForEachInLayout(order, [&](int64_t index) {
    if (width == 1) {
      to[index] = static_cast<char>(FromProtoByte(shape.element_type, static_cast<uint8_t>(*at)));
    } else {
      std::memcpy(to + index * width, at, width);
    }
    at += width;
  });
  return literal;
}

}  // namespace

void WriteLiteral(const Literal& literal, const Shape& shape, LiteralProto* to) {
  if (literal.shape().IsTuple()) {
    // The elements, each with its own shape, say more than the whole shape, which XLA wants nevertheless.
    WriteShape(shape, to->mutable_shape());
    for (size_t i = 0; i < literal.elements().size(); ++i) {
      const bool fits = i < shape.tuple_shapes.size();
      WriteLiteral(literal.elements()[i], fits ? shape.tuple_shapes[i] : literal.elements()[i].shape(),
                   to->add_tuple_literals());
      if (fits)
        *to->mutable_shape()->mutable_tuple_shapes(static_cast<int>(i)) =
            to->tuple_literals(static_cast<int>(i)).shape();
    }
    return;
  }
  Shape order = literal.shape();
  order.layout.reset();
  if (order.IsArray()) {
    Layout& layout = order.layout.emplace();
    if (shape.layout && IsPermutation(shape.layout->minor_to_major, order.rank())) {
      layout.minor_to_major = shape.layout->minor_to_major;  // XLA refuses tiles and element sizes here
    } else {
      layout.minor_to_major.resize(order.rank());
      std::iota(layout.minor_to_major.rbegin(), layout.minor_to_major.rend(), 0);
    }
  }
  WriteShape(order, to->mutable_shape());
  if (!order.IsArray()) return;
  if (const NumberField* field = FieldOf(kNumberFields, order.element_type)) return field->write(literal, order, to);
  const ByteField* field = FieldOf(kByteFields, order.element_type);
  if (field == nullptr) return;
  std::string& bytes = *(to->*field->mutable_get)();
  const int64_t width = StorageBytes(order.element_type);
  bytes.resize(literal.element_count() * width);
  const char* from = static_cast<const char*>(literal.raw());
  char* at = bytes.data();
  ForEachInLayout(order, [&](int64_t index) {
    if (width == 1) {
      *at = static_cast<char>(ToProtoByte(order.element_type, static_cast<uint8_t>(from[index])));
    } else {
      std::memcpy(at, from + index * width, width);
    }
    at += width;
  });
}

absl::StatusOr<Literal> ReadLiteral(const LiteralProto& from, const Shape& shape) {
  Shape written;
  SMELT_RETURN_IF_ERROR(ReadShape(from.shape(), &written));
  if (!written.SameAs(shape)) {
    return absl::InvalidArgumentError(
        StrCat("expected a literal of shape ", shape.ToString(), ", found one of ", written.ToString()));
  }
  return Read(from, shape, 0);
}

}  // namespace smelt::hlo::proto
