// The registers of AMX, which a process must ask Linux for before any of its threads executes an instruction on tiles.
//
//   if (!AskForTiles()) return "this process may not use AMX";
//
// What is granted holds for all threads of the process and for children that it forks, and ends with exec. Linux denies
// where the processor or the kernel has no AMX, or where some thread's stack for signals has no room for the registers.
#pragma once

namespace smelt::runtime {

// True: every thread may use tiles from now on. Asks once a process; later calls repeat the answer. Thread-safe.
bool AskForTiles();

}  // namespace smelt::runtime
