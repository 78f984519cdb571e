#include "hlo/proto/device_fields.h"

#include <cstdint>
#include <vector>

#include "base/str_cat.h"
#include "hlo/proto/origin_fields.h"
#include "hlo/text/attribute_values.h"

namespace smelt::hlo::proto {
namespace {

using text::Scanner;

template <typename Field>
bool WriteIntegers(Scanner& scanner, char open, char close, Field* to) {
  if (!scanner.Try(open)) return false;
  if (scanner.Try(close)) return true;
  do {
    int64_t value;
    if (!scanner.TryInteger(&value)) return false;
    to->Add(static_cast<typename Field::value_type>(value));
  } while (scanner.Try(','));
  return scanner.Try(close);
}

template <typename Field>
void AppendIntegers(std::string* out, const Field& values) {
  for (int i = 0; i < values.size(); ++i) StrAppend(out, i > 0 ? "," : "", values.Get(i));
}

// <=[4,2]T(1,0), where the order of the dimensions may be left out.
template <typename Reshape, typename Transpose>
bool WriteIota(Scanner& scanner, Reshape* reshape, Transpose* transpose) {
  if (!scanner.Try(std::string_view("<=")) || !WriteIntegers(scanner, '[', ']', reshape)) return false;
  if (scanner.Here() == 'T') {
    scanner.set_at(scanner.at() + 1);
    return WriteIntegers(scanner, '(', ')', transpose);
  }
  for (int i = 0; i < reshape->size(); ++i) transpose->Add(i);
  return true;
}

template <typename Reshape, typename Transpose>
void AppendIota(std::string* out, const Reshape& reshape, const Transpose& transpose) {
  *out += "<=[";
  AppendIntegers(out, reshape);
  *out += ']';
  bool in_order = true;
  for (int i = 0; i < transpose.size(); ++i) in_order = in_order && transpose.Get(i) == i;
  if (in_order) return;
  *out += "T(";
  AppendIntegers(out, transpose);
  *out += ')';
}

// 'x'
bool ReadQuotedAxis(Scanner& scanner, std::string* name) {
  if (scanner.Peek() != '\'') return false;
  const char* start = scanner.at() + 1;
  const char* end = start;
  while (end != scanner.end() && *end != '\'') ++end;
  if (end == scanner.end()) return false;
  name->assign(start, end);
  scanner.set_at(end + 1);
  return true;
}

// mesh['x'=2,'y'=4], device_ids=(0,1,...) or device_ids=([2,4]T(1,0))
bool WriteMesh(Scanner& scanner, MeshProto* to) {
  if (!scanner.Try(std::string_view("mesh")) || !scanner.Try('[')) return false;
  if (!scanner.Try(']')) {
    do {
      int64_t size;
      MeshProto::MeshAxis* axis = to->add_axes();
      if (!ReadQuotedAxis(scanner, axis->mutable_name()) || !scanner.Try('=') || !scanner.TryInteger(&size))
        return false;
      axis->set_size(size);
    } while (scanner.Try(','));
    if (!scanner.Try(']')) return false;
  }
  const char* after = scanner.at();
  if (!scanner.Try(',') || !scanner.Try(std::string_view("device_ids"))) {
    scanner.set_at(after);
    return true;
  }
  if (!scanner.Try('=')) return false;
  if (scanner.Peek() != '(') return false;
  const char* open = scanner.at();
  scanner.Try('(');
  if (scanner.Peek() != '[') {
    scanner.set_at(open);
    return WriteIntegers(scanner, '(', ')', to->mutable_device_ids());
  }
  MeshProto::IotaTransform* iota = to->mutable_iota_transform();
  if (!WriteIntegers(scanner, '[', ']', iota->mutable_reshape_dims())) return false;
  if (scanner.Here() != 'T') return false;
  scanner.set_at(scanner.at() + 1);
  return WriteIntegers(scanner, '(', ')', iota->mutable_transpose_perm()) && scanner.Try(')');
}

void AppendMesh(std::string* out, const MeshProto& mesh) {
  *out += "mesh[";
  for (int i = 0; i < mesh.axes_size(); ++i) {
    StrAppend(out, i > 0 ? "," : "", "'", mesh.axes(i).name(), "'=", mesh.axes(i).size());
  }
  *out += ']';
  if (mesh.has_iota_transform()) {
    *out += ", device_ids=([";
    AppendIntegers(out, mesh.iota_transform().reshape_dims());
    *out += "]T(";
    AppendIntegers(out, mesh.iota_transform().transpose_perm());
    *out += "))";
  } else if (mesh.device_ids_size() > 0) {
    *out += ", device_ids=(";
    AppendIntegers(out, mesh.device_ids());
    *out += ')';
  }
}

// 'x' or 'x':(2)4, part of an axis
bool WriteAxis(Scanner& scanner, const MeshProto& mesh, AxisRefProto* to) {
  std::string name;
  if (!ReadQuotedAxis(scanner, &name)) return false;
  int64_t index = 0;
  while (index < mesh.axes_size() && mesh.axes(static_cast<int>(index)).name() != name) ++index;
  if (index == mesh.axes_size()) return false;
  to->set_mesh_axis_index(index);
  if (!scanner.Try(':')) return true;
  int64_t before, size;
  if (!scanner.Try('(') || !scanner.TryInteger(&before) || !scanner.Try(')') || !scanner.TryInteger(&size))
    return false;
  to->mutable_sub_axis_info()->set_pre_size(before);
  to->mutable_sub_axis_info()->set_size(size);
  return true;
}

void AppendAxis(std::string* out, const MeshProto& mesh, const AxisRefProto& axis) {
  const int64_t index = axis.mesh_axis_index();
  const bool known = index >= 0 && index < mesh.axes_size();
  StrAppend(out, "'", known ? mesh.axes(static_cast<int>(index)).name() : StrCat(index), "'");
  if (!axis.has_sub_axis_info()) return;
  StrAppend(out, ":(", axis.sub_axis_info().pre_size(), ")", axis.sub_axis_info().size());
}

template <typename Field>
bool WriteAxes(Scanner& scanner, const MeshProto& mesh, Field* to) {
  if (!scanner.Try('{')) return false;
  if (scanner.Try('}')) return true;
  do {
    if (!WriteAxis(scanner, mesh, to->Add())) return false;
  } while (scanner.Try(','));
  return scanner.Try('}');
}

template <typename Field>
void AppendAxes(std::string* out, const MeshProto& mesh, const Field& axes) {
  for (int i = 0; i < axes.size(); ++i) {
    if (i > 0) *out += ", ";
    AppendAxis(out, mesh, axes.Get(i));
  }
}

// mesh['x'=2,'y'=4], [{'x'}, {'y':(2)2, ?}], replicated={'x'}, unreduced={'y'}, manual={}
bool WriteNamedSharding(Scanner& scanner, NamedShardingProto* to) {
  if (!WriteMesh(scanner, to->mutable_mesh())) return false;
  const MeshProto& mesh = to->mesh();
  while (scanner.Try(',')) {
    if (scanner.Try('[')) {
      if (scanner.Try(']')) continue;
      do {
        NamedShardingProto::DimensionSharding* dimension = to->add_dim_shardings();
        dimension->set_is_closed(true);
        if (!scanner.Try('{')) return false;
        if (scanner.Try('}')) continue;
        do {
          if (scanner.Try('?')) {
            dimension->set_is_closed(false);
            break;
          }
          if (!WriteAxis(scanner, mesh, dimension->add_axes())) return false;
        } while (scanner.Try(','));
        if (!scanner.Try('}')) return false;
      } while (scanner.Try(','));
      if (!scanner.Try(']')) return false;
      continue;
    }
    const std::string_view word = scanner.TryWord();
    if (!scanner.Try('=')) return false;
    const bool good = word == "replicated"  ? WriteAxes(scanner, mesh, to->mutable_replicated_axes())
                      : word == "unreduced" ? WriteAxes(scanner, mesh, to->mutable_unreduced_axes())
                      : word == "manual"    ? WriteAxes(scanner, mesh, to->mutable_manual_axes())
                      : word == "metadata"  ? WriteMetadataList(scanner, to->mutable_metadata())
                                            : false;
    if (!good) return false;
  }
  return true;
}

void AppendNamedSharding(std::string* out, const NamedShardingProto& from) {
  AppendMesh(out, from.mesh());
  if (from.dim_shardings_size() > 0) *out += ", [";
  for (int i = 0; i < from.dim_shardings_size(); ++i) {
    *out += i > 0 ? ", {" : "{";
    const NamedShardingProto::DimensionSharding& dimension = from.dim_shardings(i);
    AppendAxes(out, from.mesh(), dimension.axes());
    if (!dimension.is_closed()) *out += dimension.axes_size() > 0 ? ", ?" : "?";
    *out += '}';
  }
  if (from.dim_shardings_size() > 0) *out += ']';
  const auto append = [&](std::string_view name, const auto& axes) {
    if (axes.size() == 0) return;
    StrAppend(out, ", ", name, "={");
    AppendAxes(out, from.mesh(), axes);
    *out += '}';
  };
  append("replicated", from.replicated_axes());
  append("unreduced", from.unreduced_axes());
  append("manual", from.manual_axes());
  if (from.metadata_size() > 0) {
    *out += ", metadata=";
    AppendMetadataList(out, from.metadata());
  }
}

struct ShardingWord {
  std::string_view word;
  OpSharding::Type type;
};
constexpr ShardingWord kShardingWords[] = {{"replicated", OpSharding::REPLICATED},
                                           {"maximal", OpSharding::MAXIMAL},
                                           {"manual", OpSharding::MANUAL},
                                           {"unknown", OpSharding::UNKNOWN},
                                           {"unreduced", OpSharding::UNREDUCED}};

const ShardingWord* FindWord(std::string_view word) {
  for (const ShardingWord& entry : kShardingWords) {
    if (entry.word == word) return &entry;
  }
  return nullptr;
}

std::string_view WordOf(int type) {
  for (const ShardingWord& entry : kShardingWords) {
    if (entry.type == type) return entry.word;
  }
  return "unknown";
}

// The words between the braces of one sharding.
bool WriteOneSharding(Scanner& scanner, OpSharding* to) {
  if (scanner.Peek() == 'm') {
    const char* start = scanner.at();
    if (scanner.TryWord() == "mesh") {
      scanner.set_at(start);
      return WriteNamedSharding(scanner, to->mutable_named_sharding());
    }
    scanner.set_at(start);
  }
  while (scanner.Peek() != '}') {
    const std::string_view word = scanner.TryWord();
    int64_t value;
    if (const ShardingWord* entry = FindWord(word)) {
      to->set_type(entry->type);
    } else if (word == "last_tile_dim_replicate") {
      to->set_replicate_on_last_tile_dim(true);
    } else if (word == "shard_as" || word == "shard_like") {
      if (!scanner.TryInteger(&value)) return false;
      to->set_is_shard_group(true);
      to->set_shard_group_id(value);
      to->set_shard_group_type(word == "shard_as" ? OpSharding::AS : OpSharding::LIKE);
    } else if (word == "device") {
      if (!scanner.Try('=') || !scanner.TryInteger(&value)) return false;
      to->add_tile_assignment_devices(value);
    } else if (word == "devices") {
      to->set_type(OpSharding::OTHER);
      if (!scanner.Try('=') || !WriteIntegers(scanner, '[', ']', to->mutable_tile_assignment_dimensions()))
        return false;
      if (scanner.Peek() == '<') {
        if (!WriteIota(scanner, to->mutable_iota_reshape_dims(), to->mutable_iota_transpose_perm())) return false;
        continue;
      }
      do {
        if (!scanner.TryInteger(&value)) return false;
        to->add_tile_assignment_devices(value);
      } while (scanner.Try(','));
    } else if (word == "last_tile_dims") {
      if (!scanner.Try('=') || !scanner.Try('{')) return false;
      do {
        const ShardingWord* type = FindWord(scanner.TryWord());
        if (type == nullptr) return false;
        to->add_last_tile_dims(type->type);
      } while (scanner.Try(','));
      if (!scanner.Try('}')) return false;
    } else if (word == "metadata") {
      if (!scanner.Try('=') || !WriteMetadataList(scanner, to->mutable_metadata())) return false;
    } else {
      return false;
    }
  }
  return true;
}

}  // namespace

bool WriteSharding(Scanner& scanner, OpSharding* to) {
  if (!scanner.Try('{')) return false;
  if (scanner.Peek() != '{') return WriteOneSharding(scanner, to) && scanner.Try('}');
  to->set_type(OpSharding::TUPLE);
  do {
    if (!scanner.Try('{') || !WriteOneSharding(scanner, to->add_tuple_shardings()) || !scanner.Try('}')) return false;
  } while (scanner.Try(','));
  return scanner.Try('}');
}

void AppendSharding(std::string* out, const OpSharding& from, int depth) {
  *out += '{';
  if (from.type() == OpSharding::TUPLE) {
    for (int i = 0; i < from.tuple_shardings_size() && depth == 0; ++i) {
      if (i > 0) StrAppend(out, ", ");
      if (i > 0 && i % 5 == 0) StrAppend(out, "/*index=", i, "*/");
      AppendSharding(out, from.tuple_shardings(i), depth + 1);
    }
    *out += '}';
    return;
  }
  if (from.has_named_sharding()) {
    AppendNamedSharding(out, from.named_sharding());
  } else if (from.type() == OpSharding::OTHER) {
    *out += "devices=[";
    AppendIntegers(out, from.tile_assignment_dimensions());
    *out += ']';
    if (from.iota_reshape_dims_size() > 0) {
      AppendIota(out, from.iota_reshape_dims(), from.iota_transpose_perm());
    } else {
      AppendIntegers(out, from.tile_assignment_devices());
    }
    if (from.replicate_on_last_tile_dim()) *out += " last_tile_dim_replicate";
    for (int i = 0; i < from.last_tile_dims_size(); ++i) {
      StrAppend(out, i > 0 ? ", " : " last_tile_dims={", WordOf(from.last_tile_dims(i)));
    }
    if (from.last_tile_dims_size() > 0) *out += '}';
  } else {
    StrAppend(out, WordOf(from.type()));
    if (from.type() == OpSharding::MAXIMAL && from.tile_assignment_devices_size() > 0) {
      StrAppend(out, " device=", from.tile_assignment_devices(0));
    }
  }
  if (from.is_shard_group()) {
    StrAppend(out, from.shard_group_type() == OpSharding::AS ? " shard_as " : " shard_like ", from.shard_group_id());
  }
  if (from.metadata_size() > 0) {
    *out += " metadata=";
    AppendMetadataList(out, from.metadata());
  }
  *out += '}';
}

bool WriteReplicaGroups(std::string_view groups, HloInstructionProto* to) {
  Scanner scanner(groups, "");
  if (groups.empty()) {
    to->mutable_collective_device_list();
    return true;
  }
  if (scanner.Peek() == '[') {
    IotaReplicaGroupListProto* list = to->mutable_iota_collective_device_list();
    google::protobuf::RepeatedField<int64_t> sizes;
    if (!WriteIntegers(scanner, '[', ']', &sizes) || sizes.size() != 2) return false;
    list->set_num_replica_groups(sizes.Get(0));
    list->set_num_devices_per_group(sizes.Get(1));
    return WriteIota(scanner, list->mutable_iota_reshape_dims(), list->mutable_iota_transpose_perm()) &&
           scanner.AtEnd();
  }
  if (scanner.Peek() == 'm') {
    MeshAxesReplicaGroupListProto* list = to->mutable_mesh_axes_replica_group_list();
    if (!WriteMesh(scanner, list->mutable_mesh())) return false;
    scanner.Try(',');
    return WriteAxes(scanner, list->mesh(), list->mutable_axes()) && scanner.AtEnd();
  }
  CollectiveDeviceListProto* list = to->mutable_collective_device_list();
  if (!scanner.Try('{')) return false;
  if (scanner.Try('}')) return scanner.AtEnd();
  do {
    if (!WriteIntegers(scanner, '{', '}', list->add_replica_groups()->mutable_replica_ids())) return false;
  } while (scanner.Try(','));
  return scanner.Try('}') && scanner.AtEnd();
}

std::string ReplicaGroupsText(const HloInstructionProto& from) {
  std::string out;
  if (from.has_iota_collective_device_list()) {
    const IotaReplicaGroupListProto& list = from.iota_collective_device_list();
    out = StrCat("[", list.num_replica_groups(), ",", list.num_devices_per_group(), "]");
    AppendIota(&out, list.iota_reshape_dims(), list.iota_transpose_perm());
    return out;
  }
  if (from.has_mesh_axes_replica_group_list()) {
    const MeshAxesReplicaGroupListProto& list = from.mesh_axes_replica_group_list();
    AppendMesh(&out, list.mesh());
    out += " {";
    for (int i = 0; i < list.axes_size(); ++i) {
      if (i > 0) out += ",";
      AppendAxis(&out, list.mesh(), list.axes(i));
    }
    out += '}';
    return out;
  }
  const auto& groups =
      from.has_collective_device_list() ? from.collective_device_list().replica_groups() : from.replica_groups();
  if (groups.empty()) return "";
  for (const ReplicaGroup& group : groups) {
    out += out.empty() ? "{{" : ",{";
    AppendIntegers(&out, group.replica_ids());
    out += '}';
  }
  out += '}';
  return out;
}

}  // namespace smelt::hlo::proto
