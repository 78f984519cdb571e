// smelt db: what records of measurements hold; parts of them, several together, as JSON lines and back.
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "base/status_macros.h"
#include "base/write_file.h"
#include "cli/print_json.h"
#include "cli/verb.h"
#include "measure/records/json_lines.h"
#include "measure/records/records.h"
#include "nlohmann/json.hpp"

namespace smelt::cli {
namespace {

using measure::Record;
using measure::Records;

struct DbFlags {
  std::string action, output, kind, subject, target, device, format = "smelt";
  std::vector<std::string> files;
  bool ok = false, failed = false, json = false;
};

bool Fits(const DbFlags& flags, const Record& record) {
  if (!flags.kind.empty() && record.kind != flags.kind) return false;
  if (!flags.subject.empty() && !absl::StrContains(record.key.subject, flags.subject)) return false;
  if (!flags.target.empty() && !absl::StrContains(record.key.target, flags.target)) return false;
  if (!flags.device.empty() && !absl::StrContains(record.key.device, flags.device)) return false;
  if (flags.ok && !record.outcome.ok()) return false;
  return !flags.failed || !record.outcome.ok();
}

absl::StatusOr<std::vector<Record>> ReadStore(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return absl::NotFoundError(absl::StrCat(path, ": there is no such file"));
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Records> records, Records::Open(path));
  return records->All();
}

absl::StatusOr<std::vector<Record>> ReadLines(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return absl::NotFoundError(absl::StrCat(path, ": cannot be read"));
  }
  std::istream& stream = path == "-" ? std::cin : file;
  std::vector<Record> records;
  int64_t number = 0, torn = 0;
  absl::Status first;
  for (std::string line; std::getline(stream, line);) {
    ++number;
    if (line.empty()) continue;
    absl::StatusOr<Record> record = measure::FromJsonLine(line);
    if (record.ok()) {
      records.push_back(*std::move(record));
      continue;
    }
    if (++torn == 1)
      first = absl::InvalidArgumentError(absl::StrCat(path, ":", number, ": ", std::string(record.status().message())));
  }
  if (records.empty() && torn > 0) return first;
  if (torn > 0) {
    std::fprintf(stderr, "%s; %ld such lines of %ld are left out\n", std::string(first.message()).c_str(), torn,
                 number);
  }
  return records;
}

// All files' records that fit, in order; the same twice is one.
absl::StatusOr<std::vector<Record>> ReadAll(const DbFlags& flags) {
  std::vector<Record> all;
  std::set<std::string> seen;
  for (const std::string& path : flags.files) {
    const auto read = flags.action == "import" ? ReadLines : ReadStore;
    SMELT_ASSIGN_OR_RETURN(const std::vector<Record> records, read(path));
    for (const Record& record : records) {
      if (Fits(flags, record) && seen.insert(measure::ToJsonLine(record)).second) all.push_back(record);
    }
  }
  return all;
}

// A new record is added to what the store holds already.
absl::Status WriteStore(const DbFlags& flags, const std::vector<Record>& all) {
  SMELT_ASSIGN_OR_RETURN(const std::unique_ptr<Records> records, Records::Open(flags.output));
  SMELT_ASSIGN_OR_RETURN(const std::vector<Record> held, records->All());
  std::set<std::string> known;
  for (const Record& record : held) known.insert(measure::ToJsonLine(record));
  int64_t added = 0;
  for (const Record& record : all) {
    if (!known.insert(measure::ToJsonLine(record)).second) continue;
    SMELT_RETURN_IF_ERROR(records->Add(record));
    ++added;
  }
  std::printf("%s: %ld records added, %zu held before\n", flags.output.c_str(), added, held.size());
  return absl::OkStatus();
}

absl::Status Export(const DbFlags& flags, const std::vector<Record>& all) {
  std::string text;
  for (const Record& record : all) {
    if (flags.format == "smelt") {
      absl::StrAppend(&text, measure::ToJsonLine(record), "\n");
      continue;
    }
    SMELT_ASSIGN_OR_RETURN(const std::string line, measure::ToAutoTvmLine(record));
    absl::StrAppend(&text, line, "\n");
  }
  if (!flags.output.empty()) return WriteFile(flags.output, text);
  std::fwrite(text.data(), 1, text.size(), stdout);
  return absl::OkStatus();
}

absl::Status List(const DbFlags& flags, const std::vector<Record>& all) {
  std::map<std::string, int64_t> failures;
  for (const Record& record : all) {
    ++failures[std::string(measure::FailureName(record.outcome.failure))];
    if (flags.json) continue;
    const std::string result = record.outcome.ok() ? absl::StrFormat("%12.2f us", 1e6 * record.outcome.best())
                                                   : std::string(measure::FailureName(record.outcome.failure));
    std::printf("%-9s %-24s %s  %s\n", record.kind.c_str(), result.c_str(), record.key.subject.c_str(),
                record.description.c_str());
  }
  if (flags.json) {
    PrintJson({{"records", all.size()}, {"outcomes", failures}});
    return absl::OkStatus();
  }
  std::printf("%zu records", all.size());
  for (const auto& [name, count] : failures) std::printf(", %ld %s", count, name.c_str());
  std::printf("\n");
  return absl::OkStatus();
}

absl::Status Db(const DbFlags& flags) {
  const bool writes = flags.action == "filter" || flags.action == "merge" || flags.action == "import";
  if (writes && flags.output.empty())
    return UsageError(absl::StrCat("db ", flags.action, ": say with --out where the records go"));
  if (flags.ok && flags.failed) return UsageError("db: --ok and --failed leave nothing");
  SMELT_ASSIGN_OR_RETURN(const std::vector<Record> all, ReadAll(flags));
  if (writes) return WriteStore(flags, all);
  return flags.action == "export" ? Export(flags, all) : List(flags, all);
}

}  // namespace

Action AddDb(Arguments& arguments) {
  auto flags = std::make_shared<DbFlags>();
  arguments
      .Add("ACTION", flags->action,
           "list: print; filter, merge: add to the store --out; export: print as JSON lines; import: JSON lines, "
           "ours or AutoTVM's, into --out")
      .Required()
      .OneOf({"list", "filter", "merge", "export", "import"});
  arguments.Add("FILE", flags->files, "Records (records.db of a run folder); for import, JSON lines, - for the input")
      .Required();
  arguments.Add(kOutputFlag, flags->output, "The store, or the file, that is written");
  arguments.Add("--kind", flags->kind, "Only records of this kind: program, kernel, schedule, autotvm");
  arguments.Add("--subject", flags->subject, "Only records whose subject has this in it: a kernel's hash, a task");
  arguments.Add("--on", flags->target, "Only records whose target has this in it");
  arguments.Add("--device", flags->device, "Only records whose device has this in it");
  arguments.AddFlag("--ok", flags->ok, "Only trials that ran");
  arguments.AddFlag("--failed", flags->failed, "Only trials that failed");
  arguments.Add("--format", flags->format, "Of export: smelt, or autotvm for AutoTVM's log")
      .OneOf({"smelt", "autotvm"})
      .ShowsDefault();
  arguments.AddFlag("--json", flags->json, "Machine-readable summary on standard output");
  return [flags] { return Db(*flags); };
}

}  // namespace smelt::cli
