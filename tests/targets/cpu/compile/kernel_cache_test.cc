// The cache of compiled kernels: what is written comes back, and nothing that is broken does.
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <thread>

#include "base/cache_folder.h"
#include "gtest/gtest.h"
#include "targets/cpu/compile/compile.h"
#include "tests/scratch_folder.h"
#include "tests/targets/cpu/codegen/vector_kernel.h"

namespace smelt::cpu {
namespace {

using kernels::te::PrimitiveType;

class KernelCacheTest : public testing::Test {
 protected:
  KernelCacheTest() {
    auto object =
        codegen::EmitObject(codegen::Elementwise({PrimitiveType::kF32}, PrimitiveType::kF32, 16, 16,
                                                 [](const std::vector<kernels::te::Expr>& x) {
                                                   return kernels::te::Unary(kernels::te::UnaryOp::kNegate, x[0]);
                                                 }),
                            codegen::HostTarget());
    EXPECT_TRUE(object.ok()) << object.status();
    elf_ = object->elf;
    auto kernel = std::make_shared<CompiledKernel>();
    kernel->code = *codegen::LoadObject(*object);
    kernel->trace = "vectorize out i0\n";
    kernel->tile = "16";
    kernel->vector_spills = 3;
    kernel->compile_seconds = 0.5;
    kernel_ = kernel;
  }

  std::filesystem::path OnlyFile() const {
    std::filesystem::path found;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(folder_)) {
      if (entry.path().extension() == ".kernel") {
        EXPECT_TRUE(found.empty()) << "more than one file: " << entry.path();
        found = entry.path();
      }
    }
    return found;
  }

  const ScratchFolder scratch_;
  const std::filesystem::path folder_ = scratch_.path() / "cache";  // which the first kernel makes
  std::string elf_;
  std::shared_ptr<const CompiledKernel> kernel_;
  const Hash128 key_ = HashOf("a kernel");
};

TEST_F(KernelCacheTest, KeepsKernelsInMemory) {
  KernelCache cache;
  EXPECT_EQ(cache.Find(key_), nullptr);
  cache.Insert(key_, kernel_, elf_);
  EXPECT_EQ(cache.Find(key_), kernel_);
  EXPECT_EQ(cache.Find(HashOf("another")), nullptr);
}

TEST_F(KernelCacheTest, GivesRunningCodeBackToAnotherProcess) {
  KernelCache(folder_.string()).Insert(key_, kernel_, elf_);
  KernelCache cache(folder_.string());
  std::shared_ptr<const CompiledKernel> found = cache.Find(key_);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->trace, kernel_->trace);
  EXPECT_EQ(found->tile, kernel_->tile);
  EXPECT_EQ(found->vector_spills, 3);
  EXPECT_EQ(found->compile_seconds, 0);
  codegen::Array<float> in(16), out(16);
  for (int i = 0; i < 16; ++i) in[i] = static_cast<float>(i);
  codegen::Execute(*found->code, {in.data(), out.data()});
  EXPECT_EQ(out[5], -5);
  EXPECT_EQ(cache.Find(key_), found);
}

TEST_F(KernelCacheTest, IgnoresEveryTruncationAndFlip) {
  KernelCache(folder_.string()).Insert(key_, kernel_, elf_);
  const std::filesystem::path path = OnlyFile();
  std::ifstream file(path, std::ios::binary);
  const std::string bytes((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto write = [&](const std::string& content) { std::ofstream(path, std::ios::binary) << content; };
  for (size_t size = 0; size < bytes.size(); size += size < 64 ? 1 : 97) {
    write(bytes.substr(0, size));
    EXPECT_EQ(KernelCache(folder_.string()).Find(key_), nullptr) << size << " bytes";
  }
  for (size_t at = 0; at < bytes.size(); at += at < 64 ? 1 : 131) {
    std::string changed = bytes;
    changed[at] = static_cast<char>(changed[at] ^ 0x20);
    write(changed);
    EXPECT_EQ(KernelCache(folder_.string()).Find(key_), nullptr) << "byte " << at;
  }
  write(bytes + "x");
  EXPECT_EQ(KernelCache(folder_.string()).Find(key_), nullptr);
  // Made again, it is whole again.
  KernelCache(folder_.string()).Insert(key_, kernel_, elf_);
  EXPECT_NE(KernelCache(folder_.string()).Find(key_), nullptr);
}

TEST_F(KernelCacheTest, WorksWithoutAFolderThatCanBeWritten) {
  std::filesystem::create_directories(folder_);
  std::ofstream(folder_ / "file") << "in the way";
  KernelCache cache((folder_ / "file").string());
  cache.Insert(key_, kernel_, elf_);
  EXPECT_EQ(cache.Find(key_), kernel_);
  const std::string trouble = TakeCacheTrouble();
  EXPECT_NE(trouble.find((folder_ / "file").string()), std::string::npos) << trouble;
  EXPECT_NE(trouble.find("Not a directory"), std::string::npos) << trouble;
  EXPECT_EQ(TakeCacheTrouble(), "");
  KernelCache((folder_ / "file").string()).Insert(HashOf("another"), kernel_, elf_);
  EXPECT_EQ(TakeCacheTrouble(), "");  // once a process
}

TEST_F(KernelCacheTest, LeavesNoTemporaryFilesWhenManyThreadsWriteOneKey) {
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 10; ++i) {
        KernelCache cache(folder_.string());
        cache.Insert(key_, kernel_, elf_);
        EXPECT_NE(cache.Find(key_), nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_FALSE(OnlyFile().empty());
  EXPECT_NE(KernelCache(folder_.string()).Find(key_), nullptr);
}

}  // namespace
}  // namespace smelt::cpu
