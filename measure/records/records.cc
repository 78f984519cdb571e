#include "measure/records/records.h"

#include <sqlite3.h>

#include <algorithm>
#include <chrono>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string_view>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "base/json.h"
#include "base/status_macros.h"

namespace smelt::measure {
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
    // Until then a full disk and a killed child were recorded as failures of the candidate: none of those is trusted.
    R"sql(
      UPDATE measurement SET failure = 7 WHERE failure <> 0;
    )sql",
};
static_assert(static_cast<int>(Failure::kEnvironment) == 7);
constexpr int kSchemaVersion = static_cast<int>(std::size(kMigrations));
constexpr absl::Duration kWait = absl::Seconds(10);  // for another process that holds the file
constexpr int kApplicationId = 0x534D4C54;           // "SMLT": tells our files from other databases

// SQLite's file header, where it says whose the file is and how long it should be; numbers are big endian.
constexpr std::string_view kMagic("SQLite format 3\0", 16);
constexpr size_t kPageSizeAt = 16, kPageCountAt = 28, kApplicationAt = 68, kHeaderBytes = 100;
constexpr int64_t kCreatedPages = 3;  // the schema, the table, its index: what a file without records is made of

uint32_t BigEndian(std::string_view bytes, size_t at, size_t count) {
  uint32_t value = 0;
  for (size_t i = at; i < at + count; ++i) value = value << 8 | static_cast<unsigned char>(bytes[i]);
  return value;
}

// Whether the file is one of ours that ends before its creation did. Nothing was recorded in it.
bool IsCutShort(const std::string& path) {
  std::error_code error;
  const int64_t size = static_cast<int64_t>(std::filesystem::file_size(path, error));
  if (error || size == 0) return false;  // an empty file is a new database as it is
  std::string header(std::min<size_t>(kHeaderBytes, size), '\0');
  std::ifstream file(path, std::ios::binary);
  if (!file.read(header.data(), static_cast<std::streamsize>(header.size()))) return false;
  if (header.substr(0, kMagic.size()) != kMagic.substr(0, header.size())) return false;
  if (header.size() < kHeaderBytes) return true;
  const uint32_t application = BigEndian(header, kApplicationAt, 4);
  const int64_t pages = BigEndian(header, kPageCountAt, 4), page_size = BigEndian(header, kPageSizeAt, 2);
  return (application == 0 || application == kApplicationId) && pages <= kCreatedPages && size < pages * page_size;
}

// Out of the way, with what SQLite keeps beside it.
absl::Status PutAside(const std::string& path) {
  for (const char* suffix : {"", "-wal", "-shm", "-journal"}) {
    std::error_code error;
    std::filesystem::rename(path + suffix, absl::StrCat(path, ".cut", suffix), error);
    if (error && *suffix == 0) {
      return absl::UnavailableError(absl::StrCat(path, ": was cut short, and cannot be put aside: ", error.message()));
    }
  }
  return absl::OkStatus();
}

// SQLite finishes or undoes what these hold, whatever length the file has.
bool HasUnfinishedWork(const std::string& path) {
  for (const char* suffix : {"-wal", "-journal"}) {
    std::error_code error;
    if (std::filesystem::file_size(path + suffix, error) > 0 && !error) return true;
  }
  return false;
}

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
    sqlite3_busy_timeout(database_.get(), static_cast<int>(absl::ToInt64Milliseconds(kWait)));
    // One moment for all three: another process may be making the file.
    SMELT_RETURN_IF_ERROR(Execute("BEGIN"));
    SMELT_ASSIGN_OR_RETURN(const int64_t application, Pragma("application_id"));
    SMELT_ASSIGN_OR_RETURN(const int64_t version, Pragma("user_version"));
    SMELT_ASSIGN_OR_RETURN(const int64_t tables, Number("SELECT count(*) FROM sqlite_master"));
    SMELT_RETURN_IF_ERROR(Execute("COMMIT"));
    // One without tables is new, or its creation was cut short.
    if (application != kApplicationId && (application != 0 || tables > 0)) {
      return absl::InvalidArgumentError(
          absl::StrCat(path_, ": is an SQLite database of another program. Give the records another name"));
    }
    if (version > kSchemaVersion) {
      return absl::FailedPreconditionError(absl::StrCat(path_, ": has schema version ", version,
                                                        ", and this program reads up to ", kSchemaVersion,
                                                        ". Use the newer program that wrote it, or start a new file"));
    }
    if (version < kSchemaVersion) {
      SMELT_RETURN_IF_ERROR(Execute("BEGIN IMMEDIATE"));
      SMELT_ASSIGN_OR_RETURN(const int64_t now, Pragma("user_version"));  // another process may have been first
      for (int64_t i = now; i < kSchemaVersion; ++i) SMELT_RETURN_IF_ERROR(Execute(kMigrations[i]));
      SMELT_RETURN_IF_ERROR(Execute(absl::StrCat("PRAGMA application_id=", kApplicationId)));
      SMELT_RETURN_IF_ERROR(Execute(absl::StrCat("PRAGMA user_version=", kSchemaVersion)));
      SMELT_RETURN_IF_ERROR(Execute("COMMIT"));
    }
    // After the tables are there: until then a file is nothing, and a rollback leaves none of it.
    SMELT_RETURN_IF_ERROR(Execute("PRAGMA journal_mode=WAL"));
    SMELT_RETURN_IF_ERROR(Execute("PRAGMA synchronous=NORMAL"));
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
    BindText(insert.get(), 11, JsonText(nlohmann::json(record.outcome.seconds)));
    sqlite3_bind_double(insert.get(), 12, record.outcome.compile_seconds);
    const auto now = std::chrono::system_clock::now().time_since_epoch();
    sqlite3_bind_int64(
        insert.get(), 13,
        record.unix_seconds > 0 ? record.unix_seconds : std::chrono::duration_cast<std::chrono::seconds>(now).count());
    BindText(insert.get(), 14, JsonText(nlohmann::json(record.outcome.reference_seconds)));
    sqlite3_bind_double(insert.get(), 15, record.hardware_seconds);
    nlohmann::json kernels = nlohmann::json::array();
    for (const KernelRecord& kernel : record.kernels)
      kernels.push_back({kernel.hash, kernel.seconds, kernel.executions});
    BindText(insert.get(), 16, JsonText(kernels));
    if (sqlite3_step(insert.get()) != SQLITE_DONE) return Error("a measurement cannot be written");
    return absl::OkStatus();
  }

  absl::StatusOr<std::optional<Record>> Find(const RecordKey& key) override {
    SMELT_ASSIGN_OR_RETURN(Statement select,
                           Compile(absl::StrCat(kSelect,
                                                " WHERE subject=? AND target=? AND device=? AND compiler=? AND policy=?"
                                                " AND failure<>",
                                                static_cast<int>(Failure::kEnvironment), " ORDER BY id DESC LIMIT 1")));
    BindKey(select.get(), key);
    const int step = sqlite3_step(select.get());
    if (step == SQLITE_DONE) return std::nullopt;
    if (step != SQLITE_ROW) return Error("a measurement cannot be read");
    return ReadRow(select.get());
  }

  absl::StatusOr<std::vector<Record>> Newer(int64_t* last) override {
    SMELT_ASSIGN_OR_RETURN(Statement select, Compile(absl::StrCat(kSelect, " WHERE id > ?1 ORDER BY id")));
    sqlite3_bind_int64(select.get(), 1, *last);
    std::vector<Record> records;
    int step;
    while ((step = sqlite3_step(select.get())) == SQLITE_ROW) {
      records.push_back(ReadRow(select.get()));
      *last = sqlite3_column_int64(select.get(), kIdColumn);
    }
    if (step != SQLITE_DONE) return Error("the measurements cannot be read");
    return records;
  }

  // The last error of the database, in words.
  absl::Status Error(const std::string& what) const {
    std::string reason = sqlite3_errmsg(database_.get());
    const int code = sqlite3_errcode(database_.get());
    const int system = sqlite3_system_errno(database_.get());
    if (system != 0 && (code == SQLITE_IOERR || code == SQLITE_CANTOPEN || code == SQLITE_FULL))
      absl::StrAppend(&reason, ": ", std::strerror(system));
    const std::string message = absl::StrCat(path_, ": ", what, ": ", reason);
    if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT) {
      return absl::DataLossError(
          absl::StrCat(message, ". It is no record file of ours, or it is damaged: move it away to start a new one"));
    }
    if (code == SQLITE_FULL) return absl::ResourceExhaustedError(message);
    if (code == SQLITE_BUSY) return absl::AbortedError(message);
    return absl::UnavailableError(message);
  }

 private:
  static constexpr const char* kSelect =
      "SELECT subject, target, device, compiler, policy, kind, description, predicted_seconds, failure, message, "
      "seconds, compile_seconds, unix_seconds, reference_seconds, hardware_seconds, kernels, id FROM measurement";
  static constexpr int kIdColumn = 16;

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
    const nlohmann::json list = ParseJson(Text(row, column));
    std::vector<double> seconds;
    if (!list.is_array()) return seconds;
    for (const auto& item : list) {
      if (item.is_number()) seconds.push_back(item.get<double>());
    }
    return seconds;
  }
  static std::vector<KernelRecord> ReadKernels(sqlite3_stmt* row, int column) {
    const nlohmann::json list = ParseJson(Text(row, column));
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
        static_cast<Failure>(std::clamp(sqlite3_column_int(row, 8), 0, static_cast<int>(Failure::kEnvironment)));
    record.outcome.message = Text(row, 9);
    record.outcome.seconds = ReadSeconds(row, 10);
    record.outcome.compile_seconds = sqlite3_column_double(row, 11);
    record.unix_seconds = sqlite3_column_int64(row, 12);
    record.outcome.reference_seconds = ReadSeconds(row, 13);
    record.hardware_seconds = sqlite3_column_double(row, 14);
    record.kernels = ReadKernels(row, 15);
    return record;
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
  absl::StatusOr<int64_t> Pragma(const std::string& name) { return Number(absl::StrCat("PRAGMA ", name)); }
  absl::StatusOr<int64_t> Number(const std::string& sql) {
    SMELT_ASSIGN_OR_RETURN(Statement statement, Compile(sql));
    if (sqlite3_step(statement.get()) != SQLITE_ROW) return Error("cannot be read");
    return sqlite3_column_int64(statement.get(), 0);
  }

  std::string path_;
  Database database_;
};

}  // namespace

absl::StatusOr<std::unique_ptr<Records>> Records::Open(const std::string& path) {
  const auto open_once = [&]() -> absl::StatusOr<std::unique_ptr<Records>> {
    sqlite3* handle = nullptr;
    const int result = sqlite3_open_v2(path.c_str(), &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE, nullptr);
    auto records = std::make_unique<SqliteRecords>(path, Database(handle));
    if (result != SQLITE_OK) return records->Error("cannot be opened");
    SMELT_RETURN_IF_ERROR(records->Prepare());
    return records;
  };
  // SQLite itself does not wait for others where it switches to the write-ahead log.
  const auto open = [&] {
    const absl::Time until = absl::Now() + kWait;
    absl::StatusOr<std::unique_ptr<Records>> records = open_once();
    for (; absl::IsAborted(records.status()) && absl::Now() < until; records = open_once())
      absl::SleepFor(absl::Milliseconds(5));
    return records;
  };
  // Another process that makes it has unfinished work until it is whole.
  if (IsCutShort(path) && !HasUnfinishedWork(path) && IsCutShort(path)) SMELT_RETURN_IF_ERROR(PutAside(path));
  absl::StatusOr<std::unique_ptr<Records>> records = open();
  if (!absl::IsDataLoss(records.status()) || !IsCutShort(path)) return records;
  // What was unfinished has not made it whole.
  SMELT_RETURN_IF_ERROR(PutAside(path));
  return open();
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

}  // namespace smelt::measure
