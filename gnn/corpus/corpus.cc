#include "gnn/corpus/corpus.h"

#include <algorithm>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "gnn/corpus/kernel_example.pb.h"
#include "gnn/corpus/record_file.h"

namespace smelt::gnn {
namespace {

namespace fs = std::filesystem;

std::string ShardPath(const std::string& folder, int64_t shard) {
  return (fs::path(folder) / absl::StrFormat("shard-%05d.tfrecord", shard)).string();
}

absl::StatusOr<std::vector<std::string>> ListShards(const std::string& folder) {
  std::error_code error;
  std::vector<std::string> shards;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("shard-") && name.ends_with(".tfrecord")) shards.push_back(it->path().string());
  }
  if (error) return absl::NotFoundError(absl::StrCat(folder, ": cannot be listed: ", error.message()));
  std::sort(shards.begin(), shards.end());
  return shards;
}

KernelExampleProto ToProto(const KernelExample& example) {
  KernelExampleProto proto;
  proto.set_program(example.program);
  proto.set_kernel_text(example.kernel_text);
  proto.set_hash(example.hash.ToHex());
  proto.set_target(example.target);
  proto.set_device(example.device);
  proto.set_policy(example.policy);
  proto.set_compiler(example.compiler);
  proto.set_trace(example.trace);
  proto.set_machine(example.machine);
  proto.set_provenance(example.provenance);
  proto.set_unix_seconds(example.unix_seconds);
  proto.set_placement(example.placement);
  proto.set_drift(example.drift);
  proto.mutable_distances()->Assign(example.distances.begin(), example.distances.end());
  for (const Measurement& m : example.measurements) {
    MeasurementProto* out = proto.add_measurements();
    out->mutable_tile()->Assign(m.tile.extents.begin(), m.tile.extents.end());
    out->set_default_tile(m.default_tile);
    out->mutable_seconds()->Assign(m.seconds.begin(), m.seconds.end());
    out->set_error(m.error);
    out->mutable_reference_seconds()->Assign(m.reference_seconds.begin(), m.reference_seconds.end());
  }
  return proto;
}

absl::StatusOr<KernelExample> FromProto(const KernelExampleProto& proto) {
  KernelExample example;
  example.program = proto.program();
  example.kernel_text = proto.kernel_text();
  // Who writes corpora without Smelt cannot know the hash: `smelt corpus import` fills it in.
  auto hash = proto.hash().empty() ? Hash128() : Hash128::FromHex(proto.hash());
  if (!hash)
    return absl::DataLossError(absl::StrCat("`", proto.hash(), "` is no kernel hash of 32 hexadecimal digits"));
  example.hash = *hash;
  example.target = proto.target();
  example.device = proto.device();
  example.policy = proto.policy();
  example.compiler = proto.compiler();
  example.trace = proto.trace();
  example.machine = proto.machine();
  example.provenance = proto.provenance();
  example.unix_seconds = proto.unix_seconds();
  example.placement = proto.placement();
  example.drift = proto.drift();
  example.distances.assign(proto.distances().begin(), proto.distances().end());
  for (const MeasurementProto& m : proto.measurements()) {
    Measurement& out = example.measurements.emplace_back();
    out.tile.extents.assign(m.tile().begin(), m.tile().end());
    out.default_tile = m.default_tile();
    out.seconds.assign(m.seconds().begin(), m.seconds().end());
    out.error = m.error();
    out.reference_seconds.assign(m.reference_seconds().begin(), m.reference_seconds().end());
  }
  return example;
}

class ShardedWriter : public CorpusWriter {
 public:
  ShardedWriter(std::string folder, int64_t examples_per_shard, int64_t shard, int64_t in_shard,
                std::unique_ptr<RecordWriter> file)
      : folder_(std::move(folder)),
        examples_per_shard_(examples_per_shard),
        shard_(shard),
        in_shard_(in_shard),
        file_(std::move(file)) {}

  absl::Status Append(const KernelExample& example) override {
    if (in_shard_ >= examples_per_shard_) {
      SMELT_ASSIGN_OR_RETURN(file_, RecordWriter::Open(ShardPath(folder_, shard_ + 1), 0));
      ++shard_;
      in_shard_ = 0;
    }
    SMELT_RETURN_IF_ERROR(file_->Append(ToProto(example).SerializeAsString()));
    ++in_shard_;
    return absl::OkStatus();
  }

 private:
  std::string folder_;
  int64_t examples_per_shard_;
  int64_t shard_;
  int64_t in_shard_;
  std::unique_ptr<RecordWriter> file_;
};

}  // namespace

double Measurement::label() const { return seconds.empty() ? 0 : *std::min_element(seconds.begin(), seconds.end()); }

bool KernelExample::IsOfOtherSchedule(std::string_view schedule) const {
  const bool known = !trace.empty() && trace[0] != '#';  // a native operation has a remark in its place
  return known && !schedule.empty() && trace != schedule;
}

absl::StatusOr<std::unique_ptr<CorpusWriter>> CorpusWriter::Open(const std::string& folder,
                                                                 int64_t examples_per_shard) {
  std::error_code error;
  fs::create_directories(folder, error);
  if (error) return absl::UnavailableError(absl::StrCat(folder, ": cannot be made: ", error.message()));
  SMELT_ASSIGN_OR_RETURN(std::vector<std::string> shards, ListShards(folder));
  int64_t shard = 0, in_shard = 0;
  uint64_t offset = 0;
  if (!shards.empty()) {
    shard = static_cast<int64_t>(shards.size()) - 1;
    if (shards.back() != ShardPath(folder, shard)) {
      return absl::FailedPreconditionError(
          absl::StrCat(folder, ": the shards are not numbered without gaps from 00000: found ", shards.back(),
                       " as number ", shard, ". Write into a new folder"));
    }
    SMELT_ASSIGN_OR_RETURN(auto reader, RecordReader::Open(shards.back()));
    std::string record;
    for (;;) {
      SMELT_ASSIGN_OR_RETURN(RecordResult result, reader->Next(&record));
      if (result != RecordResult::kRecord) break;
      ++in_shard;
    }
    offset = reader->good_offset();
  }
  SMELT_ASSIGN_OR_RETURN(auto file, RecordWriter::Open(ShardPath(folder, shard), offset));
  return std::make_unique<ShardedWriter>(folder, examples_per_shard, shard, in_shard, std::move(file));
}

absl::StatusOr<CorpusReport> ReadCorpus(const std::string& folder,
                                        const std::function<absl::Status(KernelExample)>& visit) {
  SMELT_ASSIGN_OR_RETURN(std::vector<std::string> shards, ListShards(folder));
  if (shards.empty()) {
    return absl::NotFoundError(absl::StrCat(
        folder, ": holds no shard-*.tfrecord file, so it is no corpus. `smelt profile -o ", folder, "` makes one"));
  }
  CorpusReport report;
  std::string record;
  KernelExampleProto proto;
  for (const std::string& shard : shards) {
    SMELT_ASSIGN_OR_RETURN(auto reader, RecordReader::Open(shard));
    ++report.shards;
    for (;;) {
      const uint64_t offset = reader->good_offset();
      SMELT_ASSIGN_OR_RETURN(RecordResult result, reader->Next(&record));
      if (result == RecordResult::kEnd) break;
      if (result == RecordResult::kTorn) {
        report.warnings.push_back(absl::StrCat(shard, ": ends inside a record at byte ", offset, "; skipped ",
                                               reader->file_size() - offset, " bytes"));
        break;
      }
      absl::StatusOr<KernelExample> example =
          proto.ParseFromString(record) ? FromProto(proto) : absl::DataLossError("not a KernelExample");
      if (!example.ok()) {
        return absl::DataLossError(
            absl::StrCat(shard, ": the record at byte ", offset, ": ", example.status().message()));
      }
      ++report.examples;
      SMELT_RETURN_IF_ERROR(visit(*std::move(example)));
    }
  }
  return report;
}

}  // namespace smelt::gnn
