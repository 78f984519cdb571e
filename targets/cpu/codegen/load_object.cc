#include <llvm/ExecutionEngine/JITLink/JITLink.h>
#include <llvm/ExecutionEngine/JITLink/JITLinkMemoryManager.h>
#include <llvm/ExecutionEngine/Orc/Shared/ExecutorAddress.h>
#include <llvm/Support/Error.h>
#include <llvm/TargetParser/Host.h>

#include <cerrno>
#include <system_error>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "runtime/tile_permission.h"
#include "targets/cpu/codegen/codegen.h"
#include "targets/cpu/codegen/runtime_symbols.h"

namespace smelt::cpu::codegen {
namespace {

namespace jitlink = llvm::jitlink;
using llvm::orc::ExecutorAddr;

// What keeps machine code mapped: its memory, from a manager of its own, so that loading needs no lock.
struct MappedCode {
  std::unique_ptr<jitlink::InProcessMemoryManager> manager;
  jitlink::JITLinkMemoryManager::FinalizedAlloc memory;
  absl::flat_hash_map<std::string, void*> symbols;
  std::string error;

  ~MappedCode() {
    if (memory) llvm::consumeError(manager->deallocate(std::move(memory)));
  }
};

class LinkContext : public jitlink::JITLinkContext {
 public:
  explicit LinkContext(MappedCode* code) : JITLinkContext(nullptr), code_(code) {}

  jitlink::JITLinkMemoryManager& getMemoryManager() override { return *code_->manager; }
  void notifyFailed(llvm::Error error) override { code_->error = llvm::toString(std::move(error)); }
  void lookup(const LookupMap& wanted, std::unique_ptr<jitlink::JITLinkAsyncLookupContinuation> next) override {
    jitlink::AsyncLookupResult found;
    for (const auto& [name, flags] : wanted) {
      void* address = FindRuntimeSymbol({name.data(), name.size()});
      if (address == nullptr) {
        next->run(llvm::make_error<llvm::StringError>("calls " + name.str() + ", which is no run-time function",
                                                      llvm::inconvertibleErrorCode()));
        return;
      }
      found[name] = {ExecutorAddr::fromPtr(address), llvm::JITSymbolFlags::Exported};
    }
    next->run(std::move(found));
  }
  llvm::Error notifyResolved(jitlink::LinkGraph& graph) override {
    for (jitlink::Symbol* symbol : graph.defined_symbols()) {
      if (symbol->hasName()) code_->symbols[symbol->getName().str()] = symbol->getAddress().toPtr<void*>();
    }
    return llvm::Error::success();
  }
  void notifyFinalized(jitlink::JITLinkMemoryManager::FinalizedAlloc memory) override {
    code_->memory = std::move(memory);
  }

 private:
  MappedCode* code_;
};

}  // namespace

absl::StatusOr<std::shared_ptr<runtime::KernelCode>> LoadObject(const ObjectCode& object) {
  const std::string& name = object.descriptor.name;
  auto failed = [&](std::string why) {
    // Memory that the system refuses says nothing of the code.
    const bool refused = why.find(std::generic_category().message(ENOMEM)) != std::string::npos;
    return absl::Status(refused ? absl::StatusCode::kResourceExhausted : absl::StatusCode::kInvalidArgument,
                        absl::StrCat("cannot load the code of kernel ", name, ": ", why));
  };
  auto code = std::make_shared<MappedCode>();
  auto manager = jitlink::InProcessMemoryManager::Create();
  if (!manager) return failed(llvm::toString(manager.takeError()));
  code->manager = std::move(*manager);
  auto graph = jitlink::createLinkGraphFromObject(llvm::MemoryBufferRef(object.elf, name));
  if (!graph) return failed(llvm::toString(graph.takeError()));
  const llvm::Triple host(llvm::sys::getProcessTriple());
  if ((*graph)->getTargetTriple().getArch() != host.getArch())
    return std::make_shared<runtime::KernelCode>(object.descriptor, std::vector<runtime::PhaseFunction>(), nullptr);
  // Code for another CPU by name may be run here all the same, where it has what it needs.
  if (object.descriptor.uses_tiles) runtime::AskForTiles();
  // Everything happens before link returns: memory of this process, symbols of a table.
  jitlink::link(std::move(*graph), std::make_unique<LinkContext>(code.get()));
  if (!code->error.empty()) return failed(code->error);
  std::vector<runtime::PhaseFunction> functions;
  for (const runtime::PhaseDescriptor& phase : object.descriptor.phases) {
    auto at = code->symbols.find(phase.symbol);
    if (at == code->symbols.end()) return failed(absl::StrCat("it has no symbol ", phase.symbol));
    functions.push_back(reinterpret_cast<runtime::PhaseFunction>(at->second));
  }
  return std::make_shared<runtime::KernelCode>(object.descriptor, std::move(functions), std::move(code));
}

}  // namespace smelt::cpu::codegen
