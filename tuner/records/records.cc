#include "tuner/records/records.h"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <fstream>

#include "absl/strings/str_cat.h"
#include "hlo/status_macros.h"
#include "nlohmann/json.hpp"

namespace smelt::tuner {
namespace {

// Schema versions, oldest first: version N is reached by running the first N scripts. Never change one that was
// released; append.
constexpr const char* kMigrations[] = {
    R"sql(
      CREATE TABLE measurement (
        id INTEGER PRIMARY KEY,
        subject TEXT NOT NULL, target TEXT NOT NULL, device TEXT NOT NULL, compiler TEXT NOT NULL, policy TEXT NOT NULL,
        kind TEXT NOT NULL, description TEXT NOT NULL,
        predicted_seconds REAL NOT NULL,
        failure INTEGER NOT NULL, message TEXT NOT NULL,
        seconds TEXT NOT NULL,           -- JSON list, every repeat
        compile_seconds REAL NOT NULL,
        unix_seconds INTEGER NOT NULL
      );
      CREATE INDEX measurement_key ON measurement (subject, target, device, compiler, policy);
    )sql",
    R"sql(
      ALTER TABLE measurement ADD COLUMN reference_seconds TEXT NOT NULL DEFAULT '[]';
      ALTER TABLE measurement ADD COLUMN hardware_seconds REAL NOT NULL DEFAULT 0;
    )sql",
    R"sql(
      ALTER TABLE measurement ADD COLUMN kernels TEXT NOT NULL DEFAULT '[]';  -- [[hash, seconds, executions], ..]
    )sql",
};
constexpr int kSchemaVersion = static_cast<int>(std::size(kMigrations));
constexpr int kApplicationId = 0x534D4C54;  // "SMLT": tells our files from other databases

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

struct Close {
  void operator()(sqlite3* database) const { sqlite3_close(database); }
};
using Database = std::unique_ptr<sqlite3, Close>;

std::string Text(sqlite3_stmt* statement, int column) {
  const unsigned char* text = sqlite3_column_text(statement, column);
  return text == nullptr ? ""
                         : std::string(reinterpret_cast<const char*>(text),
                                       static_cast<size_t>(sqlite3_column_bytes(statement, column)));
}

class SqliteRecords : public Records {
 public:
  SqliteRecords(std::string path, Database database) : path_(std::move(path)), database_(std::move(database)) {}

  absl::Status Prepare() {
    sqlite3_busy_timeout(database_.get(), 10000);
    SMELT_ASSIGN_OR_RETURN(const int64_t application, Pragma("application_id"));
    SMELT_ASSIGN_OR_RETURN(const int64_t version, Pragma("user_version"));
    SMELT_ASSIGN_OR_RETURN(const int64_t pages, Pragma("page_count"));
    if (pages > 0 && application != kApplicationId) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": is an SQLite database of another program. Give the records another name"));
    }
    if (version > kSchemaVersion) {
      return absl::FailedPreconditionError(absl::StrCat(path_, ": has schema version ", version,
                                                        ", and this program reads up to ", kSchemaVersion,
                                                        ". Use the newer program that wrote it, or start a new file"));
    }
    SMELT_RETURN_IF_ERROR(Execute("PRAGMA journal_mode=WAL"));
    SMELT_RETURN_IF_ERROR(Execute("PRAGMA synchronous=NORMAL"));
    if (version < kSchemaVersion) {
      SMELT_RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
      SMELT_ASSIGN_OR_RETURN(const int64_t now, Pragma("user_version"));  // another process may have been first
      for (int64_t i = now; i < kSchemaVersion; ++i) SMELT_RETURN_IF_ERROR(Execute(kMigrations[i]));
      SMELT_RETURN_IF_ERROR(Execute(absl::StrCat("PRAGMA application_id=", kApplicationId)));
      SMELT_RETURN_IF_ERROR(Execute(absl::StrCat("PRAGMA user_version=", kSchemaVersion)));
      SMELT_RETURN_IF_ERROR(Execute("COMMIT"));
    }
    return absl::OkStatus();
  }

  absl::Status Add(const Record& record) override {
    SMELT_ASSIGN_OR_RETURN(
        Statement insert,
        Compile("INSERT INTO measurement (subject, target, device, compiler, policy, kind, description, "
                "predicted_seconds, failure, message, seconds, compile_seconds, unix_seconds, reference_seconds, "
                "hardware_seconds, kernels) VALUES (?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"));
    BindKey(insert.get(), record.key);
    BindText(insert.get(), 6, record.kind);
    BindText(insert.get(), 7, record.description);
    sqlite3_bind_double(insert.get(), 8, record.predicted_seconds);
    sqlite3_bind_int(insert.get(), 9, static_cast<int>(record.outcome.failure));
    BindText(insert.get(), 10, record.outcome.message);
    BindText(insert.get(), 11, nlohmann::json(record.outcome.seconds).dump());
    sqlite3_bind_double(insert.get(), 12, record.outcome.compile_seconds);
    sqlite3_bind_int64(
        insert.get(), 13,
        std::chrono::duration_cast<std::chrono::seconds>(std::chrono::system_clock::now().time_since_epoch()).count());
    BindText(insert.get(), 14, nlohmann::json(record.outcome.reference_seconds).dump());
    sqlite3_bind_double(insert.get(), 15, record.hardware_seconds);
    nlohmann::json kernels = nlohmann::json::array();
    for (const KernelRecord& kernel : record.kernels)
      kernels.push_back({kernel.hash, kernel.seconds, kernel.executions});
    BindText(insert.get(), 16, kernels.dump());
    if (sqlite3_step(insert.get()) != SQLITE_DONE) return Error("a measurement cannot be written");
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<Record>> Find(const RecordKey& key) override {
    SMELT_ASSIGN_OR_RETURN(Statement select,
                           Compile(absl::StrCat(kSelect,
                                                " WHERE subject=? AND target=? AND device=? AND compiler=? AND policy=?"
                                                " ORDER BY id DESC LIMIT 1")));
    BindKey(select.get(), key);
    const int step = sqlite3_step(select.get());
    if (step == SQLITE_DONE) return std::nullopt;
    if (step != SQLITE_ROW) return Error("a measurement cannot be read");
    return ReadRow(select.get());
  }

  absl::StatusOr<std::vector<Record>> All() override {
    SMELT_ASSIGN_OR_RETURN(Statement select, Compile(absl::StrCat(kSelect, " ORDER BY id")));
    std::vector<Record> records;
    int step;
    while ((step = sqlite3_step(select.get())) == SQLITE_ROW) records.push_back(ReadRow(select.get()));
    if (step != SQLITE_DONE) return Error("the measurements cannot be read");
    return records;
  }

 private:
  static constexpr const char* kSelect =
      "SELECT subject, target, device, compiler, policy, kind, description, predicted_seconds, failure, message, "
      "seconds, compile_seconds, unix_seconds, reference_seconds, hardware_seconds, kernels FROM measurement";

  static void BindText(sqlite3_stmt* statement, int index, const std::string& text) {
    sqlite3_bind_text(statement, index, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  }
  static void BindKey(sqlite3_stmt* statement, const RecordKey& key) {
    BindText(statement, 1, key.subject);
    BindText(statement, 2, key.target);
    BindText(statement, 3, key.device);
    BindText(statement, 4, key.compiler);
    BindText(statement, 5, key.policy);
  }
  static std::vector<double> ReadSeconds(sqlite3_stmt* row, int column) {
    const nlohmann::json list = nlohmann::json::parse(Text(row, column), nullptr, /*allow_exceptions=*/false);
    std::vector<double> seconds;
    if (!list.is_array()) return seconds;
    for (const auto& item : list) {
      if (item.is_number()) seconds.push_back(item.get<double>());
    }
    return seconds;
  }
  static std::vector<KernelRecord> ReadKernels(sqlite3_stmt* row, int column) {
    const nlohmann::json list = nlohmann::json::parse(Text(row, column), nullptr, /*allow_exceptions=*/false);
    std::vector<KernelRecord> kernels;
    if (!list.is_array()) return kernels;
    for (const auto& item : list) {
      if (!item.is_array() || item.size() != 3 || !item[0].is_string() || !item[1].is_number() ||
          !item[2].is_number_integer())
        continue;
      kernels.push_back({item[0].get<std::string>(), item[1].get<double>(), item[2].get<int64_t>()});
    }
    return kernels;
  }
  static Record ReadRow(sqlite3_stmt* row) {
    Record record;
    record.key = {Text(row, 0), Text(row, 1), Text(row, 2), Text(row, 3), Text(row, 4)};
    record.kind = Text(row, 5);
    record.description = Text(row, 6);
    record.predicted_seconds = sqlite3_column_double(row, 7);
    record.outcome.failure =
        static_cast<Failure>(std::clamp(sqlite3_column_int(row, 8), 0, static_cast<int>(Failure::kResourceLimit)));
    record.outcome.message = Text(row, 9);
    record.outcome.seconds = ReadSeconds(row, 10);
    record.outcome.compile_seconds = sqlite3_column_double(row, 11);
    record.unix_seconds = sqlite3_column_int64(row, 12);
    record.outcome.reference_seconds = ReadSeconds(row, 13);
    record.hardware_seconds = sqlite3_column_double(row, 14);
    record.kernels = ReadKernels(row, 15);
    return record;
  }

  absl::Status Error(const std::string& what) const {
    const std::string reason = sqlite3_errmsg(database_.get());
    const int code = sqlite3_errcode(database_.get());
    const std::string message = absl::StrCat(path_, ": ", what, ": ", reason);
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
      return absl::DataLossError(
          absl::StrCat(message, ". It is no record file of ours, or it is damaged: move it away to start a new one"));
    }
    if (code == SQLITE_FULL) return absl::ResourceExhaustedError(message);
    return absl::UnavailableError(message);
  }
  absl::Status Execute(const std::string& sql) {
    if (sqlite3_exec(database_.get(), sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
      return Error("cannot be used");
    return absl::OkStatus();
  }
  absl::StatusOr<Statement> Compile(const std::string& sql) {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v2(database_.get(), sql.c_str(), -1, &statement, nullptr) != SQLITE_OK)
      return Error("cannot be used");
    return Statement(statement);
  }
  absl::StatusOr<int64_t> Pragma(const std::string& name) {
    SMELT_ASSIGN_OR_RETURN(Statement statement, Compile(absl::StrCat("PRAGMA ", name)));
    if (sqlite3_step(statement.get()) != SQLITE_ROW) return Error("cannot be read");
    return sqlite3_column_int64(statement.get(), 0);
  }

  std::string path_;
  Database database_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Records>> Records::Open(const std::string& path) {
  sqlite3* handle = nullptr;
  const int result = sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
  Database database(handle);
  if (result != SQLITE_OK) {
    return absl::UnavailableError(
        absl::StrCat(path, ": cannot be opened: ", handle == nullptr ? "out of memory" : sqlite3_errmsg(handle)));
  }
  auto records = std::make_unique<SqliteRecords>(path, std::move(database));
  SMELT_RETURN_IF_ERROR(records->Prepare());
  return records;
}

std::string DeviceName() {
  std::ifstream file("/proc/cpuinfo");
  std::string line;
  while (std::getline(file, line)) {
    if (line.starts_with("model name")) {
      const size_t colon = line.find(": ");
      if (colon != std::string::npos) return line.substr(colon + 2);
    }
  }
  return "unknown";
}

}  // namespace smelt::tuner
