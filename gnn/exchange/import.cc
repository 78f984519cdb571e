#include <algorithm>
#include <filesystem>
#include <fstream>
#include <functional>
#include <memory>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "base/status_macros.h"
#include "fusion/kernel_of_module.h"
#include "gnn/exchange/columns.h"
#include "gnn/exchange/csv.h"
#include "gnn/exchange/exchange.h"
#include "hlo/file/read.h"
#include "hlo/text/parser.h"
#include "hlo/text/printer.h"
#include "machine/descriptor.h"
#include "machine/target_id.h"

namespace smelt::gnn {
namespace {

namespace fs = std::filesystem;

constexpr int64_t kRefusedNamed = 10;
constexpr size_t kMostRows = 65536;  // of one record: what is held of a table

// The columns of a table by their place in its rows.
absl::StatusOr<std::vector<const TableColumn*>> ReadHeader(const CsvReader& reader,
                                                           const std::vector<std::string>& row) {
  std::vector<const TableColumn*> columns;
  std::vector<std::string> names;
  for (const TableColumn& column : TableColumns()) names.push_back(column.name);
  for (const std::string& name : row) {
    const auto found = std::find(names.begin(), names.end(), name);
    if (found == names.end())
      return reader.Wrong(absl::StrCat("column `", name, "` is unknown; there are ", absl::StrJoin(names, ", ")));
    const TableColumn* column = &TableColumns()[found - names.begin()];
    if (std::find(columns.begin(), columns.end(), column) != columns.end())
      return reader.Wrong(absl::StrCat("column `", name, "` stands there twice"));
    columns.push_back(column);
  }
  for (const char* needed : {"kernel", "seconds"}) {
    if (std::find(row.begin(), row.end(), needed) == row.end())
      return reader.Wrong(absl::StrCat("there is no column `", needed, "`; the first row names the columns"));
  }
  return columns;
}

// Gives a record what every record has, and its kernel the form and the hash that ours have.
class Completion {
 public:
  Completion(const ImportOptions& options, std::string folder) : options_(options), folder_(std::move(folder)) {}

  absl::Status Complete(KernelExample* record) {
    std::unique_ptr<hlo::Module> module;
    if (record->kernel_text.starts_with("@")) {
      const fs::path path = fs::path(folder_) / record->kernel_text.substr(1);
      SMELT_ASSIGN_OR_RETURN(module, hlo::ReadModuleFile(path.string()));
      if (record->program.empty()) record->program = path.stem().string();
    } else {
      SMELT_ASSIGN_OR_RETURN(module, hlo::ParseModule(record->kernel_text, {.file_name = "kernel"}));
    }
    SMELT_ASSIGN_OR_RETURN(fusion::Kernel kernel, fusion::KernelOfModule(*module));
    SMELT_RETURN_IF_ERROR(fusion::CheckDistances(kernel.computation(), record->distances));
    kernel.distances = record->distances;
    record->kernel_text = hlo::ToText(*kernel.module, {});
    record->hash = fusion::TimedHash(kernel);
    if (record->target.empty()) record->target = options_.target;
    if (record->machine.empty()) record->machine = options_.machine;
    if (record->provenance.empty()) record->provenance = "imported";
    return absl::OkStatus();
  }

  // What is wrong with a whole corpus, and not with one kernel.
  absl::Status Check(const KernelExample& record) {
    if (record.target.empty()) return absl::InvalidArgumentError("no target: give --target=KIND, or a column `target`");
    if (machine::TargetId::Parse(record.target).kind.empty())
      return absl::InvalidArgumentError(absl::StrCat("target `", record.target, "` has no kind, such as chip:CPU"));
    if (record.machine == checked_) return absl::OkStatus();
    if (!record.machine.empty()) SMELT_RETURN_IF_ERROR(machine::ReadMachine(record.machine).status());
    checked_ = record.machine;
    return absl::OkStatus();
  }

 private:
  const ImportOptions& options_;
  const std::string folder_;
  std::string checked_;  // a machine that is one
};

bool SameRecord(const KernelExample& a, const KernelExample& b) {
  return a.program == b.program && a.kernel_text == b.kernel_text && a.target == b.target && a.device == b.device &&
         a.placement == b.placement && a.distances == b.distances;
}

}  // namespace

absl::StatusOr<ImportReport> ImportCsv(const std::string& path, const ImportOptions& options,
                                       const std::string& corpus) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be opened"));
  CsvReader reader(file, path);
  std::vector<std::string> row;
  SMELT_ASSIGN_OR_RETURN(const bool any, reader.Next(&row));
  if (!any) return absl::InvalidArgumentError(absl::StrCat(path, ": is empty; the first row names the columns"));
  SMELT_ASSIGN_OR_RETURN(const std::vector<const TableColumn*> columns, ReadHeader(reader, row));
  const auto has = [&](std::string_view name) {
    return std::any_of(columns.begin(), columns.end(), [&](const TableColumn* c) { return name == c->name; });
  };
  const bool has_default = has("default"), has_program = has("program");
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<CorpusWriter> writer, CorpusWriter::Open(corpus));
  Completion completion(options, fs::path(path).parent_path().string());
  ImportReport report;
  KernelExample open;  // rows that belong to it may follow
  const auto close = [&](int64_t line) -> absl::Status {
    if (open.measurements.empty()) return absl::OkStatus();
    const int64_t rows = static_cast<int64_t>(open.measurements.size());
    KernelExample record = std::exchange(open, {});
    if (const absl::Status read = completion.Complete(&record); !read.ok()) {
      report.left_out += rows;
      if (static_cast<int64_t>(report.refused.size()) < kRefusedNamed)
        report.refused.push_back(absl::StrCat(path, ":", line, ": ", read.message()));
      return absl::OkStatus();
    }
    if (record.program.empty()) record.program = fs::path(path).stem().string();
    if (const absl::Status status = completion.Check(record); !status.ok())
      return absl::InvalidArgumentError(absl::StrCat(path, ":", line, ": ", status.message()));
    ++report.records;
    return writer->Append(record);
  };
  int64_t open_line = 0;
  for (;;) {
    SMELT_ASSIGN_OR_RETURN(const bool more, reader.Next(&row));
    if (!more) break;
    if (row.size() != columns.size())
      return reader.Wrong(absl::StrCat(row.size(), " fields, and the first row names ", columns.size(), " columns"));
    KernelExample record;
    Measurement measurement;
    for (size_t i = 0; i < row.size(); ++i) {
      if (const absl::Status status = columns[i]->set(row[i], &record, &measurement); !status.ok())
        return reader.Wrong(absl::StrCat("column `", columns[i]->name, "`: ", std::string(status.message())));
    }
    if (!has_default) measurement.default_tile = measurement.tile.extents.empty();
    if (measurement.seconds.empty() && measurement.error.empty())
      return reader.Wrong("column `seconds` is empty, and no column `error` says why");
    if (record.program.empty() && has_program) record.program = fs::path(path).stem().string();
    ++report.rows;
    if (open.measurements.size() >= kMostRows || open.measurements.empty() || !SameRecord(open, record)) {
      SMELT_RETURN_IF_ERROR(close(open_line));
      open = std::move(record);
      open_line = reader.line();
    }
    open.measurements.push_back(std::move(measurement));
  }
  SMELT_RETURN_IF_ERROR(close(open_line));
  return report;
}

absl::StatusOr<ImportReport> ImportRecords(const std::string& folder, const ImportOptions& options,
                                           const std::string& corpus) {
  if (fs::path(folder).lexically_normal() == fs::path(corpus).lexically_normal())
    return absl::InvalidArgumentError(absl::StrCat(corpus, ": is what is imported; write to another folder"));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<CorpusWriter> writer, CorpusWriter::Open(corpus));
  Completion completion(options, folder);
  ImportReport report;
  const auto visit = [&](KernelExample record) -> absl::Status {
    report.rows += static_cast<int64_t>(record.measurements.size());
    if (const absl::Status read = completion.Complete(&record); !read.ok()) {
      report.left_out += static_cast<int64_t>(record.measurements.size());
      if (static_cast<int64_t>(report.refused.size()) < kRefusedNamed)
        report.refused.push_back(absl::StrCat(folder, ": a kernel of `", record.program, "`: ", read.message()));
      return absl::OkStatus();
    }
    if (record.program.empty()) record.program = fs::path(folder).stem().string();
    if (const absl::Status status = completion.Check(record); !status.ok())
      return absl::InvalidArgumentError(absl::StrCat(folder, ": ", status.message()));
    ++report.records;
    return writer->Append(record);
  };
  SMELT_RETURN_IF_ERROR(ReadCorpus(folder, visit).status());
  return report;
}

absl::StatusOr<int64_t> ExportCsv(const std::string& corpus, const std::string& path) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  if (!file) return absl::UnavailableError(absl::StrCat(path, ": cannot be written"));
  std::vector<std::string> fields;
  for (const TableColumn& column : TableColumns()) fields.push_back(column.name);
  file << CsvRow(fields);
  int64_t rows = 0;
  const auto visit = [&](const KernelExample& record) -> absl::Status {
    for (const Measurement& measurement : record.measurements) {
      fields.clear();
      for (const TableColumn& column : TableColumns()) fields.push_back(column.get(record, measurement));
      file << CsvRow(fields);
      ++rows;
    }
    if (!file) return absl::ResourceExhaustedError(absl::StrCat(path, ": cannot be written to its end"));
    return absl::OkStatus();
  };
  SMELT_RETURN_IF_ERROR(ReadCorpus(corpus, visit).status());
  file.close();
  if (!file) return absl::ResourceExhaustedError(absl::StrCat(path, ": cannot be written to its end"));
  return rows;
}

}  // namespace smelt::gnn
