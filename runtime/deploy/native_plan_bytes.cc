#include "runtime/deploy/native_plan_bytes.h"

#include <type_traits>
#include <utility>

namespace smelt::runtime::deploy {
namespace {

// What to do with one field: the same list of fields is written and read.
class FieldWriter {
 public:
  explicit FieldWriter(ByteWriter* writer) : writer_(*writer) {}

  template <typename T>
  void operator()(const T& value) {
    if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      writer_.Add(value);
    } else {
      writer_.Add(static_cast<int64_t>(value));
    }
  }
  template <typename T, typename Fields>
  void List(const std::vector<T>& list, const Fields& fields) {
    writer_.Add(static_cast<int64_t>(list.size()));
    for (const T& item : list) fields(item);
  }

 private:
  ByteWriter& writer_;
};

class FieldReader {
 public:
  explicit FieldReader(ByteReader* reader) : reader_(*reader) {}
  bool ok() const { return ok_; }

  template <typename T>
  void operator()(T& value) {
    if constexpr (std::is_same_v<T, std::vector<int64_t>>) {
      ok_ = ok_ && reader_.Read(&value);
    } else {
      int64_t number = 0;
      ok_ = ok_ && reader_.Read(&number);
      value = static_cast<T>(number);
    }
  }
  template <typename T, typename Fields>
  void List(std::vector<T>& list, const Fields& fields) {
    int64_t count = 0;
    ok_ = ok_ && reader_.ReadCount(&count);
    if (!ok_) return;
    list.resize(static_cast<size_t>(count));
    for (T& item : list) fields(item);
  }

 private:
  ByteReader& reader_;
  bool ok_ = true;
};

template <typename F, typename Plan>
void FieldsOfPlan(F& field, Plan& plan) {
  using T = std::remove_const_t<Plan>;
  if constexpr (std::is_same_v<T, native::FftPlan>) {
    field(plan.kind);
    field(plan.f64);
    field(plan.lengths);
    field(plan.batch);
  } else if constexpr (std::is_same_v<T, native::ScatterPlan>) {
    field.List(plan.arrays, [&](auto& array) {
      field(array.type);
      field(array.combiner);
    });
    for (auto* list :
         {&plan.operand, &plan.updates, &plan.indices, &plan.update_window_dims, &plan.inserted_window_dims,
          &plan.scatter_dims_to_operand_dims, &plan.input_batching_dims, &plan.scatter_indices_batching_dims}) {
      field(*list);
    }
    field(plan.index_type);
    field(plan.index_vector_dim);
    field(plan.unique_indices);
  } else if constexpr (std::is_same_v<T, native::SelectAndScatterPlan>) {
    field(plan.type);
    field.List(plan.dimensions, [&](auto& d) {
      for (auto* number : {&d.operand, &d.source, &d.window, &d.stride, &d.dilation, &d.padding_low}) field(*number);
    });
    field(plan.comparison);
  } else if constexpr (std::is_same_v<T, native::SortPlan>) {
    field.List(plan.operands, [&](auto& type) { field(type); });
    field(plan.dimensions);
    field(plan.dimension);
    field.List(plan.keys, [&](auto& key) {
      field(key.operand);
      for (auto* flag : {&key.order.descending, &key.order.zeros_equal, &key.order.nans_last}) field(*flag);
    });
    field(plan.ties_reversed);
    field(plan.partial_order);
  } else if constexpr (std::is_same_v<T, native::TopKPlan>) {
    field(plan.type);
    field(plan.index_type);
    for (auto* number : {&plan.rows, &plan.columns, &plan.k}) field(*number);
    field(plan.largest);
  } else if constexpr (std::is_same_v<T, native::CholeskyPlan>) {
    field(plan.f64);
    field(plan.batch);
    field(plan.size);
    field(plan.lower);
    field(plan.tells);
  } else if constexpr (std::is_same_v<T, native::TriangularSolvePlan>) {
    field(plan.f64);
    for (auto* number : {&plan.batch, &plan.size, &plan.vectors}) field(*number);
    for (auto* flag : {&plan.left_side, &plan.lower, &plan.transpose, &plan.unit_diagonal}) field(*flag);
  } else if constexpr (std::is_same_v<T, native::LuPlan>) {
    field(plan.f64);
    for (auto* number : {&plan.batch, &plan.rows, &plan.columns}) field(*number);
  } else {
    static_assert(std::is_same_v<T, native::RandomBitsPlan>);
    field(plan.three_fry);
    field(plan.state_words);
    field(plan.element_bytes);
    field(plan.dimensions);
  }
}

// Plan number `kind` of the variant, empty.
template <size_t... I>
bool Emplace(size_t kind, native::Plan* plan, std::index_sequence<I...>) {
  return ((kind == I ? (plan->emplace<I>(), true) : false) || ...);
}

}  // namespace

void WritePlan(const native::Plan& plan, ByteWriter* writer) {
  writer->Add(static_cast<int64_t>(plan.index()));
  FieldWriter field(writer);
  std::visit([&](const auto& one) { FieldsOfPlan(field, one); }, plan);
}

bool ReadPlan(ByteReader* reader, native::Plan* plan) {
  int64_t kind = 0;
  if (!reader->Read(&kind) || kind < 0) return false;
  if (!Emplace(static_cast<size_t>(kind), plan, std::make_index_sequence<std::variant_size_v<native::Plan>>()))
    return false;
  FieldReader field(reader);
  std::visit([&](auto& one) { FieldsOfPlan(field, one); }, *plan);
  return field.ok();
}

}  // namespace smelt::runtime::deploy
