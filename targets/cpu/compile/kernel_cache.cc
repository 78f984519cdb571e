#include <algorithm>
#include <cstring>
#include <filesystem>

#include "absl/strings/str_cat.h"
#include "base/cache_folder.h"
#include "hlo/file/read.h"
#include "runtime/deploy/byte_stream.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/compile/compile.h"

namespace smelt::cpu {
namespace {

using runtime::deploy::ByteReader;
using runtime::deploy::ByteWriter;

// A cache file: magic, version, hash of the rest, then fields, each a length and bytes. A version change forgets all.
constexpr char kMagic[8] = {'s', 'm', 'e', 'l', 't', 'k', 'c', '\n'};
constexpr int64_t kVersion = 3;
constexpr size_t kHeaderBytes = sizeof(kMagic) + 3 * sizeof(int64_t);
// Kernels kept in memory beside those that somebody holds.
constexpr size_t kMaxInMemory = 8192;

std::string Serialize(const CompiledKernel& kernel, const std::string& elf) {
  const runtime::KernelDescriptor& descriptor = kernel.code->descriptor();
  ByteWriter body;
  body.Add(descriptor.name);
  body.Add(descriptor.input_count);
  body.Add(descriptor.output_count);
  body.Add(static_cast<int64_t>(descriptor.shared_bytes.size()));
  for (int64_t bytes : descriptor.shared_bytes) body.Add(bytes);
  body.Add(descriptor.thread_scratch_bytes);
  body.Add(static_cast<int64_t>(descriptor.phases.size()));
  for (const runtime::PhaseDescriptor& phase : descriptor.phases) {
    body.Add(phase.symbol);
    body.Add(phase.extent);
    body.Add(phase.reads);
    body.Add(phase.writes);
  }
  body.Add(kernel.trace);
  body.Add(kernel.tile);
  body.Add(int64_t{kernel.vector_spills});
  body.Add(int64_t{descriptor.uses_tiles});
  body.Add(elf);
  const Hash128 hash = HashOf(body.bytes());
  ByteWriter file;
  file.Add(kVersion);
  file.Add(static_cast<int64_t>(hash.high));
  file.Add(static_cast<int64_t>(hash.low));
  return std::string(kMagic, sizeof(kMagic)) + file.bytes() + body.bytes();
}

std::shared_ptr<const CompiledKernel> Deserialize(std::string_view file) {
  if (file.size() < kHeaderBytes || std::memcmp(file.data(), kMagic, sizeof(kMagic)) != 0) return nullptr;
  ByteReader header(file.substr(sizeof(kMagic), 3 * sizeof(int64_t)));
  const std::string_view body = file.substr(kHeaderBytes);
  int64_t version, high, low;
  if (!header.Read(&version) || !header.Read(&high) || !header.Read(&low) || version != kVersion) return nullptr;
  const Hash128 expected{static_cast<uint64_t>(high), static_cast<uint64_t>(low)};
  if (HashOf(body) != expected) return nullptr;

  ByteReader reader(body);
  codegen::ObjectCode object;
  runtime::KernelDescriptor& descriptor = object.descriptor;
  auto kernel = std::make_shared<CompiledKernel>();
  int64_t count, spills, tiles;
  if (!reader.Read(&descriptor.name) || !reader.Read(&descriptor.input_count) ||
      !reader.Read(&descriptor.output_count) || !reader.ReadCount(&count)) {
    return nullptr;
  }
  descriptor.shared_bytes.resize(count);
  for (int64_t& bytes : descriptor.shared_bytes) {
    if (!reader.Read(&bytes)) return nullptr;
  }
  if (!reader.Read(&descriptor.thread_scratch_bytes) || !reader.ReadCount(&count)) return nullptr;
  descriptor.phases.resize(count);
  for (runtime::PhaseDescriptor& phase : descriptor.phases) {
    if (!reader.Read(&phase.symbol) || !reader.Read(&phase.extent) || !reader.Read(&phase.reads) ||
        !reader.Read(&phase.writes)) {
      return nullptr;
    }
  }
  if (!reader.Read(&kernel->trace) || !reader.Read(&kernel->tile) || !reader.Read(&spills) || !reader.Read(&tiles) ||
      !reader.Read(&object.elf) || !reader.done()) {
    return nullptr;
  }
  kernel->vector_spills = static_cast<int>(spills);
  descriptor.uses_tiles = tiles != 0;
  absl::StatusOr<std::shared_ptr<runtime::KernelCode>> code = codegen::LoadObject(object);
  if (!code.ok()) return nullptr;
  kernel->code = std::move(*code);
  return kernel;
}

// A folder for every first byte of the key keeps folders small.
std::string PathOf(const std::string& folder, const Hash128& key) {
  const std::string hex = key.ToHex();
  return (std::filesystem::path(folder) / hex.substr(0, 2) / (hex + ".kernel")).string();
}

}  // namespace

std::string KernelCache::DefaultFolder() { return DefaultCacheFolder(); }

std::shared_ptr<const CompiledKernel> KernelCache::Find(const Hash128& key) {
  {
    std::lock_guard<std::mutex> lock(mutex_);
    if (auto at = kernels_.find(key); at != kernels_.end()) return at->second;
  }
  if (folder_.empty()) return nullptr;
  const std::string path = PathOf(folder_, key);
  std::shared_ptr<const CompiledKernel> kernel = Deserialize(hlo::ReadTextFile(path).value_or(""));
  if (kernel == nullptr) return nullptr;
  NoteCacheUse(path);
  std::lock_guard<std::mutex> lock(mutex_);
  MakeRoom();
  return kernels_.try_emplace(key, std::move(kernel)).first->second;
}

void KernelCache::Insert(const Hash128& key, std::shared_ptr<const CompiledKernel> kernel, const std::string& elf) {
  if (!folder_.empty()) KeepInCache(folder_, PathOf(folder_, key), Serialize(*kernel, elf));
  std::lock_guard<std::mutex> lock(mutex_);
  MakeRoom();
  kernels_[key] = std::move(kernel);
}

void KernelCache::MakeRoom() {
  // Each kernel maps pages of its own, and a process may only have so many mappings. With a folder, what goes comes
  // back.
  if (kernels_.size() < kMaxInMemory) return;
  for (auto at = kernels_.begin(); at != kernels_.end();) {
    if (at->second.use_count() == 1) {
      kernels_.erase(at++);
    } else {
      ++at;
    }
  }
}

}  // namespace smelt::cpu
