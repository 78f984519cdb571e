// The same random schedules compiled to machine code: what runs must be what the definition says, must not write next
// to its buffers, and must not read beyond them (each ends just before a page that cannot be read).
#include <sys/mman.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>

#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/processor/detect.h"
#include "tests/kernels/lower/random_schedule.h"

namespace smelt::cpu::codegen {
namespace {

using kernels::lower::Fuzzer;
using kernels::lower::Lower;
using kernels::lower::RandomInputs;
using kernels::schedule::Schedule;

// Memory that ends (to 64 bytes) at an unreadable page, filled with NaN.
class GuardedBuffer {
 public:
  explicit GuardedBuffer(int64_t bytes) : bytes_(bytes) {
    const int64_t page = sysconf(_SC_PAGESIZE);
    const int64_t used = (bytes + 63) / 64 * 64;
    mapped_ = (used + page - 1) / page * page + page;
    base_ = static_cast<char*>(mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
    std::memset(base_, 0xff, mapped_ - page);
    mprotect(base_ + mapped_ - page, page, PROT_NONE);
    data_ = base_ + mapped_ - page - used;
  }
  GuardedBuffer(const GuardedBuffer&) = delete;
  ~GuardedBuffer() { munmap(base_, mapped_); }
  char* data() const { return data_; }
  // Whether the bytes around the buffer are as they were.
  bool Intact() const {
    for (const char* p = base_; p < data_; ++p) {
      if (*p != '\xff') return false;
    }
    for (const char* p = data_ + bytes_; p < data_ + (bytes_ + 63) / 64 * 64; ++p) {
      if (*p != '\xff') return false;
    }
    return true;
  }

 private:
  char* base_;
  char* data_;
  int64_t bytes_, mapped_;
};

std::string CompiledDifference(const Schedule& s, const kernels::ir::Function& function, const Target& target,
                               uint64_t seed) {
  auto object = codegen::EmitObject(function, target);
  if (!object.ok()) return object.status().ToString();
  auto code = codegen::LoadObject(*object);
  if (!code.ok()) return code.status().ToString();
  std::vector<hlo::Literal> inputs = RandomInputs(s.graph(), seed);
  std::vector<const hlo::Literal*> pointers;
  for (const hlo::Literal& input : inputs) pointers.push_back(&input);
  const auto want = kernels::te::Evaluate(s.graph(), pointers);
  if (!want.ok()) return want.status().ToString();

  const runtime::KernelDescriptor& descriptor = (*code)->descriptor();
  std::vector<std::unique_ptr<GuardedBuffer>> memory;
  std::vector<void*> buffers;
  const auto add = [&](int64_t bytes) {
    memory.push_back(std::make_unique<GuardedBuffer>(bytes));
    buffers.push_back(memory.back()->data());
  };
  for (const hlo::Literal& input : inputs) {
    add(input.byte_size());
    std::memcpy(buffers.back(), input.raw(), input.byte_size());
  }
  for (const hlo::Literal& output : *want) add(output.byte_size());
  for (const int64_t bytes : descriptor.shared_bytes) add(bytes);
  const GuardedBuffer scratch(descriptor.thread_scratch_bytes);
  for (size_t p = 0; p < descriptor.phases.size(); ++p) {
    // It runs in two pieces, the later one first: iterations are independent.
    const int64_t extent = descriptor.phases[p].extent, half = extent / 2;
    (*code)->function(p)(buffers.data(), scratch.data(), half, extent);
    if (half > 0) (*code)->function(p)(buffers.data(), scratch.data(), 0, half);
  }
  for (size_t i = 0; i < memory.size(); ++i) {
    if (!memory[i]->Intact()) return absl::StrCat("bytes next to buffer ", i, " have been written");
  }
  for (size_t o = 0; o < want->size(); ++o) {
    const auto* got = reinterpret_cast<const float*>(buffers[inputs.size() + o]);
    for (int64_t i = 0; i < (*want)[o].element_count(); ++i) {
      const double x = (*want)[o].GetDouble(i);
      if (x == got[i] || (std::isnan(x) && std::isnan(got[i]))) continue;
      return absl::StrCat("output ", o, " element ", i, ": want ", x, ", got ", got[i], "\n", s.ToString(), "\n",
                          kernels::ir::ToString(function));
    }
  }
  return "";
}

TEST(CompiledFuzz, RandomSchedulesRunAsTheirGraphsSay) {
  const char* one = std::getenv("SMELT_FUZZ_SEED");
  const char* count = std::getenv("SMELT_FUZZ_COUNT");
  const uint64_t first = one != nullptr ? std::strtoull(one, nullptr, 10) : 100000;
  const uint64_t rounds = one != nullptr ? 1 : count != nullptr ? std::strtoull(count, nullptr, 10) : 60;
  const Target target = DetectTarget(false);
  int failures = 0;
  for (uint64_t seed = first; seed < first + rounds && failures < 3; ++seed) {
    Fuzzer fuzzer(seed);
    const kernels::te::Graph graph = fuzzer.MakeRandomGraph();
    Schedule s(graph);
    fuzzer.ScheduleAtRandom(&s);
    const auto function = Lower(s, {});
    if (!function.ok()) continue;
    const std::string difference = CompiledDifference(s, *function, target, seed);
    EXPECT_EQ(difference, "") << "seed " << seed << "\n" << kernels::te::ToString(graph);
    failures += difference.empty() ? 0 : 1;
  }
}

}  // namespace
}  // namespace smelt::cpu::codegen
