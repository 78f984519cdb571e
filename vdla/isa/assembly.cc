#include "vdla/isa/assembly.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <vector>

#include "base/status_macros.h"
#include "base/str_cat.h"
#include "vdla/isa/encoding.h"

namespace smelt::vdla::isa {
namespace {

constexpr uint64_t kMostData = uint64_t{1} << 32;  // bytes of one segment that a text may write
constexpr size_t kBytesOfLine = 32;

absl::Status Wrong(std::string_view what) { return absl::InvalidArgumentError(StrCat(what)); }

// Words between blanks, without a comment.
std::vector<std::string_view> WordsOf(std::string_view line) {
  line = line.substr(0, line.find(';'));
  std::vector<std::string_view> words;
  for (size_t at = line.find_first_not_of(" \t\r"); at != std::string_view::npos;
       at = line.find_first_not_of(" \t\r", at)) {
    const size_t end = std::min(line.size(), line.find_first_of(" \t\r", at));
    words.push_back(line.substr(at, end - at));
    at = end;
  }
  return words;
}

// A decimal number, or hexadecimal after 0x.
template <typename Value>
std::optional<Value> NumberOf(std::string_view word) {
  const bool hex = word.substr(0, 2) == "0x";
  if (hex) word.remove_prefix(2);
  Value value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value, hex ? 16 : 10);
  if (error != std::errc() || end != word.data() + word.size() || word.empty()) return std::nullopt;
  return value;
}

// `name=value` as its parts.
bool SplitAssignment(std::string_view word, std::string_view* name, std::string_view* value) {
  const size_t equals = word.find('=');
  if (equals == std::string_view::npos) return false;
  *name = word.substr(0, equals);
  *value = word.substr(equals + 1);
  return true;
}

bool HasNames(FieldKind kind) {
  return kind == FieldKind::kMemory || kind == FieldKind::kGemmMode || kind == FieldKind::kAluOp;
}

absl::StatusOr<Instruction> ReadInstruction(const std::vector<std::string_view>& words) {
  const std::optional<int64_t> opcode = ValueOfName(FieldKind::kOpcode, words[0]);
  if (!opcode.has_value())
    return Wrong(StrCat("`", words[0], "` is no instruction; there are LOAD, STORE, GEMM, FINISH and ALU"));
  Instruction instruction{.opcode = static_cast<Opcode>(*opcode)};
  std::vector<const Field*> given;
  const auto set = [&](const Field& field, int64_t value) -> absl::Status {
    if (std::find(given.begin(), given.end(), &field) != given.end())
      return Wrong(StrCat("`", field.name, "` stands twice"));
    if (value < field.least() || value > field.most())
      return Wrong(StrCat("`", field.name, "` is ", value, "; it must be from ", field.least(), " to ", field.most()));
    given.push_back(&field);
    field.set(instruction, value);
    return absl::OkStatus();
  };
  for (size_t w = 1; w < words.size(); ++w) {
    std::string_view name, value;
    if (SplitAssignment(words[w], &name, &value)) {
      const Field* field = FieldOf(instruction.opcode, name);
      const bool numeric =
          field != nullptr && (field->kind == FieldKind::kUnsigned || field->kind == FieldKind::kSigned);
      if (!numeric) return Wrong(StrCat(words[0], " has no number `", name, "`"));
      const std::optional<int64_t> number = NumberOf<int64_t>(value);
      if (!number.has_value()) return Wrong(StrCat("`", value, "` of `", name, "` is no whole number"));
      SMELT_RETURN_IF_ERROR(set(*field, *number));
      continue;
    }
    bool known = false;
    for (const Field& field : Fields()) {
      if (!field.IsOf(instruction.opcode)) continue;
      const bool flag = field.kind == FieldKind::kFlag && field.name == words[w];
      const std::optional<int64_t> named = HasNames(field.kind) ? ValueOfName(field.kind, words[w]) : std::nullopt;
      if (!flag && !named.has_value()) continue;
      SMELT_RETURN_IF_ERROR(set(field, flag ? 1 : *named));
      known = true;
      break;
    }
    if (!known) return Wrong(StrCat("`", words[w], "` is no flag and no name of ", words[0]));
  }
  for (const Field& field : Fields()) {
    if (field.IsOf(instruction.opcode) && HasNames(field.kind) &&
        std::find(given.begin(), given.end(), &field) == given.end())
      return Wrong(StrCat(words[0], " must name its ", field.name, ": ", field.meaning));
  }
  return instruction;
}

int HexDigit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  const char lower = static_cast<char>(c | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

template <typename Value>
void PutLittle(std::string* out, Value value) {
  for (size_t b = 0; b < sizeof(Value); ++b) out->push_back(static_cast<char>(static_cast<uint64_t>(value) >> (8 * b)));
}

class Assembler {
 public:
  absl::Status Line(std::string_view line) {
    const std::vector<std::string_view> words = WordsOf(line);
    if (words.empty()) return absl::OkStatus();
    if (words[0][0] != '.') {
      if (!versioned_) return Wrong("the text must begin with `.vdla 1`");
      SMELT_ASSIGN_OR_RETURN(const Instruction instruction, ReadInstruction(words));
      SMELT_RETURN_IF_ERROR(CheckInstruction(instruction, static_cast<int64_t>(program_.instructions.size())));
      program_.instructions.push_back(instruction);
      return absl::OkStatus();
    }
    if (!versioned_ && words[0] != ".vdla") return Wrong("the text must begin with `.vdla 1`");
    for (const Directive& directive : kDirectives) {
      if (words[0] == directive.name) return (this->*directive.read)(words, line);
    }
    return Wrong(StrCat("`", words[0], "` is no directive"));
  }
  absl::StatusOr<Program> Finish() {
    if (!versioned_) return Wrong("is empty");
    if (program_.config.name.empty()) return Wrong("has no `.machine`");
    if (program_.name.empty()) program_.name = "program";
    SMELT_RETURN_IF_ERROR(CheckProgram(program_));
    return std::move(program_);
  }

 private:
  using Words = std::vector<std::string_view>;
  struct Directive {
    std::string_view name;
    absl::Status (Assembler::*read)(const Words&, std::string_view);
  };
  static const std::array<Directive, 9> kDirectives;

  absl::Status Version(const Words& words, std::string_view) {
    if (words.size() != 2 || words[1] != StrCat(kVersion))
      return Wrong(StrCat("is no text of version ", kVersion, " of the instruction set: `.vdla ", kVersion, "`"));
    versioned_ = true;
    return absl::OkStatus();
  }
  absl::Status Name(const Words& words, std::string_view) {
    if (words.size() != 2) return Wrong("`.program` takes one name");
    program_.name = std::string(words[1]);
    return absl::OkStatus();
  }
  absl::Status Machine(const Words& words, std::string_view line) {
    if (words.size() < 2) return Wrong("`.machine` takes a name or a JSON object");
    if (words[1][0] == '{') {
      SMELT_ASSIGN_OR_RETURN(program_.config, Config::Parse(line.substr(line.find('{')), ".machine"));
      return absl::OkStatus();
    }
    if (words.size() != 2) return Wrong("`.machine` takes one name");
    SMELT_ASSIGN_OR_RETURN(program_.config, Config::Named(words[1]));
    return absl::OkStatus();
  }
  absl::Status NewSegment(const Words& words, std::string_view) {
    if (words.size() != 5) return Wrong("`.segment` takes a role, a name, address=N and size=N");
    Segment segment{.name = std::string(words[2])};
    int role = 0;
    while (role < kRoles && words[1] != NameOf(static_cast<Role>(role))) ++role;
    if (role == kRoles)
      return Wrong(StrCat("`", words[1], "` is no role; there are constant, input, output, scratch and result"));
    segment.role = static_cast<Role>(role);
    for (const auto& [word, want, target] :
         {std::tuple(words[3], "address", &segment.address), std::tuple(words[4], "size", &segment.size)}) {
      std::string_view name, value;
      const std::optional<uint64_t> number =
          SplitAssignment(word, &name, &value) ? NumberOf<uint64_t>(value) : std::nullopt;
      if (!number.has_value() || name != want) return Wrong(StrCat("`", word, "` must be ", want, "=NUMBER"));
      *target = *number;
    }
    program_.segments.push_back(std::move(segment));
    return absl::OkStatus();
  }
  // The bytes that a directive adds to.
  absl::StatusOr<std::string*> Data(std::string_view directive, uint64_t more) {
    if (program_.segments.empty()) return Wrong(StrCat("`", directive, "` stands before any `.segment`"));
    Segment& segment = program_.segments.back();
    const uint64_t most = std::min(segment.size, kMostData);
    if (more > most || segment.bytes.size() > most - more)
      return Wrong(StrCat("there are more data than the ", segment.size, " bytes of segment `", segment.name, "`"));
    return &segment.bytes;
  }
  absl::Status Bytes(const Words& words, std::string_view) {
    for (size_t w = 1; w < words.size(); ++w) {
      if (words[w].size() % 2 != 0) return Wrong("`.bytes` takes pairs of hexadecimal digits");
      SMELT_ASSIGN_OR_RETURN(std::string * data, Data(words[0], words[w].size() / 2));
      for (size_t c = 0; c < words[w].size(); c += 2) {
        const int high = HexDigit(words[w][c]), low = HexDigit(words[w][c + 1]);
        if (high < 0 || low < 0) return Wrong("`.bytes` takes pairs of hexadecimal digits");
        data->push_back(static_cast<char>(high << 4 | low));
      }
    }
    return absl::OkStatus();
  }
  template <typename Value>
  absl::Status Numbers(const Words& words, std::string_view) {
    for (size_t w = 1; w < words.size(); ++w) {
      const std::optional<Value> value = NumberOf<Value>(words[w]);
      if (!value.has_value()) return Wrong(StrCat("`", words[w], "` is no number of `", words[0], "`"));
      SMELT_ASSIGN_OR_RETURN(std::string * data, Data(words[0], sizeof(Value)));
      PutLittle(data, *value);
    }
    return absl::OkStatus();
  }
  absl::Status Uop(const Words& words, std::string_view) {
    MicroOp op;
    for (size_t w = 1; w < words.size(); ++w) {
      std::string_view name, value;
      const std::optional<uint32_t> number =
          SplitAssignment(words[w], &name, &value) ? NumberOf<uint32_t>(value) : std::nullopt;
      uint32_t* field = name == "dst" ? &op.dst : name == "src" ? &op.src : name == "wgt" ? &op.wgt : nullptr;
      if (!number.has_value() || field == nullptr) return Wrong("`.uop` takes dst=N, src=N and wgt=N");
      *field = *number;
    }
    if (!FitsMicroOp(op)) return Wrong("dst and src of a micro-op are below 4096, wgt below 256");
    SMELT_ASSIGN_OR_RETURN(std::string * data, Data(words[0], kMicroOpBytes));
    PutLittle(data, EncodeMicroOp(op));
    return absl::OkStatus();
  }
  absl::Status Zero(const Words& words, std::string_view) {
    const std::optional<uint64_t> count = words.size() == 2 ? NumberOf<uint64_t>(words[1]) : std::nullopt;
    if (!count.has_value() || *count > kMostZeros)
      return Wrong(StrCat("`.zero` takes a number of bytes up to ", kMostZeros));
    SMELT_ASSIGN_OR_RETURN(std::string * data, Data(words[0], *count));
    data->append(*count, '\0');
    return absl::OkStatus();
  }

  // A short line must not fill the memory; zeros at the end of a segment need no directive.
  static constexpr uint64_t kMostZeros = 1 << 20;
  bool versioned_ = false;
  Program program_;
};

const std::array<Assembler::Directive, 9> Assembler::kDirectives = {{
    {".vdla", &Assembler::Version},
    {".program", &Assembler::Name},
    {".machine", &Assembler::Machine},
    {".segment", &Assembler::NewSegment},
    {".bytes", &Assembler::Bytes},
    {".int8", &Assembler::Numbers<int8_t>},
    {".int32", &Assembler::Numbers<int32_t>},
    {".uop", &Assembler::Uop},
    {".zero", &Assembler::Zero},
}};

// Whether a LOAD of micro-ops begins in the segment: its bytes are then written as micro-ops.
bool HoldsMicroOps(const Program& program, const Segment& segment) {
  if (segment.bytes.size() % kMicroOpBytes != 0 || segment.address % kMicroOpBytes != 0) return false;
  return std::any_of(program.instructions.begin(), program.instructions.end(), [&](const Instruction& i) {
    const uint64_t address = uint64_t{i.dram_base} * kMicroOpBytes;
    return i.opcode == Opcode::kLoad && i.memory == Memory::kUop && address >= segment.address &&
           address < segment.address + segment.size;
  });
}

void AppendData(const Program& program, const Segment& segment, std::string* text) {
  constexpr char kDigits[] = "0123456789abcdef";
  const std::string& bytes = segment.bytes;
  if (HoldsMicroOps(program, segment)) {
    for (size_t at = 0; at < bytes.size(); at += kMicroOpBytes) {
      uint32_t word = 0;
      for (int b = kMicroOpBytes - 1; b >= 0; --b)
        word = word << 8 | static_cast<uint8_t>(bytes[at + static_cast<size_t>(b)]);
      const MicroOp op = DecodeMicroOp(word);
      StrAppend(text, ".uop dst=", op.dst, " src=", op.src, " wgt=", op.wgt, "\n");
    }
    return;
  }
  for (size_t at = 0; at < bytes.size(); at += kBytesOfLine) {
    *text += ".bytes ";
    for (size_t b = at; b < std::min(bytes.size(), at + kBytesOfLine); ++b) {
      *text += kDigits[static_cast<uint8_t>(bytes[b]) >> 4];
      *text += kDigits[static_cast<uint8_t>(bytes[b]) & 15];
    }
    *text += '\n';
  }
}

}  // namespace

absl::StatusOr<Instruction> AssembleInstruction(std::string_view line) {
  const std::vector<std::string_view> words = WordsOf(line);
  if (words.empty()) return Wrong("there is no instruction");
  SMELT_ASSIGN_OR_RETURN(const Instruction instruction, ReadInstruction(words));
  SMELT_RETURN_IF_ERROR(CheckInstruction(instruction, 0));
  return instruction;
}

std::string DisassembleInstruction(const Instruction& instruction) {
  std::string text(NameOf(instruction.opcode));
  for (const bool named : {true, false}) {  // the memory, mode or operation stands first
    for (const Field& field : Fields()) {
      if (!field.IsOf(instruction.opcode) || field.kind == FieldKind::kOpcode || HasNames(field.kind) != named)
        continue;
      const int64_t value = field.get(instruction);
      if (named) {
        StrAppend(&text, " ", NameOfValue(field.kind, value));
      } else if (value != 0) {
        StrAppend(&text, " ", field.name);
        if (field.kind != FieldKind::kFlag) StrAppend(&text, "=", value);
      }
    }
  }
  return text;
}

absl::StatusOr<Program> Assemble(std::string_view text, std::string_view origin) {
  Assembler assembler;
  int64_t number = 0;
  while (!text.empty()) {
    ++number;
    const size_t end = std::min(text.size(), text.find('\n'));
    if (const absl::Status status = assembler.Line(text.substr(0, end)); !status.ok())
      return absl::InvalidArgumentError(StrCat(origin, ":", number, ": ", std::string(status.message())));
    text.remove_prefix(std::min(text.size(), end + 1));
  }
  absl::StatusOr<Program> program = assembler.Finish();
  if (!program.ok()) return absl::InvalidArgumentError(StrCat(origin, ": ", std::string(program.status().message())));
  return program;
}

std::string Disassemble(const Program& program) {
  std::string text = StrCat(".vdla ", kVersion, "\n.program ", program.name, "\n");
  const absl::StatusOr<Config> named = Config::Named(program.config.name);
  if (named.ok() && *named == program.config) {
    StrAppend(&text, ".machine ", program.config.name, "\n");
  } else {
    std::string json = program.config.ToJson();
    std::replace(json.begin(), json.end(), '\n', ' ');
    StrAppend(&text, ".machine ", json, "\n");
  }
  for (const Segment& segment : program.segments) {
    StrAppend(&text, ".segment ", NameOf(segment.role), " ", segment.name, " address=", segment.address,
              " size=", segment.size, "\n");
    AppendData(program, segment, &text);
  }
  for (const Instruction& instruction : program.instructions)
    StrAppend(&text, DisassembleInstruction(instruction), "\n");
  return text;
}

}  // namespace smelt::vdla::isa
