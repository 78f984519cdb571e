#include "runtime/tile_permission.h"

#if defined(__x86_64__) && defined(__linux__)
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace smelt::runtime {
namespace {

bool Ask() {
#if defined(__x86_64__) && defined(__linux__)
  // The values of Linux's asm/prctl.h, and the number of the state component that tiles are (Linux, x86/xstate.rst).
  constexpr long kRequestPermission = 0x1023;
  constexpr long kTileData = 18;
  __builtin_cpu_init();
  // The call grants a component that the kernel knows, whether the processor at hand has it or not.
  return __builtin_cpu_supports("amx-tile") != 0 && ::syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
#else
  return false;
#endif
}

}  // namespace

bool AskForTiles() {
  static const bool granted = Ask();
  return granted;
}

}  // namespace smelt::runtime
