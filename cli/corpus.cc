// smelt corpus: what a corpus holds and how good its labels are; corpora joined, parted, and exchanged as tables.
#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "base/status_macros.h"
#include "cli/corpus_again.h"
#include "cli/print_json.h"
#include "cli/verb.h"
#include "gnn/exchange/exchange.h"
#include "gnn/exchange/merge.h"
#include "gnn/labels/statistics.h"
#include "hlo/file/read.h"
#include "machine/descriptor.h"
#include "nlohmann/json.hpp"

namespace smelt::cli {
namespace {

struct CorpusFlags {
  std::string what;
  std::vector<std::string> files;
  std::string output, shares = "0.8,0.1,0.1", target, machine;
  uint64_t seed = 1;
  bool json = false;
  AgainFlags again;
};

void Warn(const std::vector<std::string>& warnings) {
  for (const std::string& warning : warnings) std::fprintf(stderr, "%s\n", warning.c_str());
}

absl::Status Stats(const CorpusFlags& flags) {
  SMELT_ASSIGN_OR_RETURN(const gnn::CorpusStatistics one, gnn::ReadStatistics(flags.files[0]));
  Warn(one.warnings);
  nlohmann::json result = gnn::ToJson(one);
  std::string text = gnn::FormatStatistics(one);
  if (one.revisited > 0) {
    const gnn::Agreement visits = gnn::CompareVisits(one);
    result["visits"] = gnn::ToJson(visits);
    text += "\n" + gnn::FormatAgreement(visits, "First against second visits to a kernel");
  }
  if (flags.files.size() > 1) {
    SMELT_ASSIGN_OR_RETURN(const gnn::CorpusStatistics other, gnn::ReadStatistics(flags.files[1]));
    Warn(other.warnings);
    const gnn::Agreement agreement = gnn::Compare(one, other);
    result = {{"one", std::move(result)}, {"other", gnn::ToJson(other)}, {"agreement", gnn::ToJson(agreement)}};
    absl::StrAppend(&text, "\n", gnn::FormatStatistics(other), "\n",
                    gnn::FormatAgreement(agreement, "Two labelings of the same kernels: no model is better than this"));
  }
  if (flags.json) {
    PrintJson(result);
  } else {
    std::fputs(text.c_str(), stdout);
  }
  return absl::OkStatus();
}

absl::Status Merge(const CorpusFlags& flags) {
  SMELT_ASSIGN_OR_RETURN(const gnn::MergeReport report, gnn::MergeCorpora(flags.files, flags.output));
  Warn(report.warnings);
  if (flags.json) {
    PrintJson({{"corpus", flags.output}, {"records", report.records}, {"equal", report.equal}});
  } else {
    std::printf("%s: %ld records of %zu corpora; %ld were there already\n", flags.output.c_str(), report.records,
                flags.files.size(), report.equal);
  }
  return absl::OkStatus();
}

absl::Status Split(const CorpusFlags& flags) {
  std::vector<std::pair<std::string, double>> parts;
  for (const absl::string_view text : absl::StrSplit(flags.shares, ',')) {
    double share = 0;
    if (!absl::SimpleAtod(text, &share))
      return UsageError(absl::StrCat("--shares=", flags.shares, ": `", text, "` is no number"));
    parts.push_back({absl::StrCat(flags.output, "/", parts.size()), share});
  }
  SMELT_ASSIGN_OR_RETURN(const gnn::SplitReport report, gnn::SplitCorpus(flags.files[0], parts, flags.seed));
  Warn(report.warnings);
  nlohmann::json result = nlohmann::json::array();
  for (size_t i = 0; i < parts.size(); ++i) {
    result.push_back({{"corpus", parts[i].first}, {"records", report.records[i]}});
    if (!flags.json) std::printf("%s: %ld records\n", parts[i].first.c_str(), report.records[i]);
  }
  if (flags.json) PrintJson(result);
  return absl::OkStatus();
}

absl::Status Import(const CorpusFlags& flags) {
  gnn::ImportOptions options{.target = flags.target};
  if (!flags.machine.empty()) {
    SMELT_ASSIGN_OR_RETURN(const std::string text, hlo::ReadTextFile(flags.machine));
    const absl::StatusOr<machine::Machine> machine = machine::ReadMachine(text);
    if (!machine.ok()) return absl::InvalidArgumentError(absl::StrCat(flags.machine, ": ", machine.status().message()));
    options.machine = machine::DescribeMachine(*machine);
  }
  const std::string& from = flags.files[0];
  const bool is_table = from.ends_with(".csv");
  SMELT_ASSIGN_OR_RETURN(const gnn::ImportReport report, is_table ? gnn::ImportCsv(from, options, flags.output)
                                                                  : gnn::ImportRecords(from, options, flags.output));
  Warn(report.refused);
  if (report.left_out > 0) std::fprintf(stderr, "%s: %ld rows were left out\n", from.c_str(), report.left_out);
  if (flags.json) {
    PrintJson({{"corpus", flags.output},
               {"rows", report.rows},
               {"records", report.records},
               {"left_out", report.left_out},
               {"refused", report.refused}});
  } else {
    std::printf("%s: %ld records from %ld rows\n", flags.output.c_str(), report.records, report.rows);
  }
  if (report.records == 0)
    return absl::InvalidArgumentError(absl::StrCat(from, ": no row has a kernel that can be read"));
  return absl::OkStatus();
}

absl::Status Export(const CorpusFlags& flags) {
  SMELT_ASSIGN_OR_RETURN(const int64_t rows, gnn::ExportCsv(flags.files[0], flags.output));
  if (flags.json) {
    PrintJson({{"table", flags.output}, {"rows", rows}});
  } else {
    std::printf("%s: %ld rows\n", flags.output.c_str(), rows);
  }
  return absl::OkStatus();
}

absl::Status Again(const CorpusFlags& flags) {
  return ProfileAgain(flags.files[0], flags.output, flags.again, flags.json);
}

// What there is to do, with how many files it takes.
struct Task {
  const char* name;
  size_t least, most;
  bool writes;
  absl::Status (*run)(const CorpusFlags&);
};
constexpr Task kTasks[] = {
    {"stats", 1, 2, false, Stats},  {"merge", 1, 1000000, true, Merge}, {"split", 1, 1, true, Split},
    {"import", 1, 1, true, Import}, {"export", 1, 1, true, Export},     {"again", 1, 1, true, Again},
};

absl::Status Corpus(const CorpusFlags& flags) {
  for (const Task& task : kTasks) {
    if (flags.what != task.name) continue;
    if (flags.files.size() < task.least || flags.files.size() > task.most) {
      return UsageError(absl::StrCat("smelt corpus ", task.name, ": takes ", task.least,
                                     task.most > task.least ? " or more" : "", " of FILES, and not ",
                                     flags.files.size()));
    }
    if (task.writes && flags.output.empty())
      return UsageError(absl::StrCat("smelt corpus ", task.name, ": -o says where to write"));
    return task.run(flags);
  }
  return UsageError(absl::StrCat("smelt corpus ", flags.what, ": no such task"));
}

}  // namespace

Action AddCorpus(Arguments& arguments) {
  auto flags = std::make_shared<CorpusFlags>();
  arguments
      .Add("TASK", flags->what,
           "stats A [B]: what a corpus holds, and how far two labelings agree; merge A...: as one; split A: by "
           "program, into -o/0, -o/1, ...; import TABLE.csv, or a corpus without hashes; export A; again A: times "
           "a share of its kernels once more")
      .Required()
      .OneOf({"stats", "merge", "split", "import", "export", "again"});
  arguments.Add("FILES", flags->files, "Corpus folders, or the table").Required();
  arguments.Add(kOutputFlag, flags->output, "Corpus folder, or table, to write");
  arguments.Add("--shares", flags->shares, "split: shares of the programs, separated by commas").ShowsDefault();
  arguments.Add("--seed", flags->seed, "split: which program falls where; again: which kernels").ShowsDefault();
  arguments.Add("--machine", flags->machine,
                "import: what the kernels ran on, as JSON (docs/formats.md), where the table does not tell");
  arguments.Add("--of", flags->target,
                "import: whose kernels were timed, KIND or KIND:CPU,threads=N, where the table "
                "does not tell");
  AddAgainFlags(arguments, &flags->again);
  arguments.AddFlag("--json", flags->json, "Machine-readable result on standard output");
  return [flags] {
    flags->again.seed = flags->seed;
    return Corpus(*flags);
  };
}

}  // namespace smelt::cli
