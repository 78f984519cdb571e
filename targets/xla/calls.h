// Instructions that XLA compiles into functions of their own.
//
//   Callable callable = FindCallable(program.module());
//   tiles[callable.loops.begin()->first] = kCallTile;       // tiles.h; read by ToLoopFusions
//
// XLA:CPU runs each fusion, loop and convolution of a program as a step of its own, but a `call` marked
// xla_cpu_small_call becomes one function with all that it holds, emitted in place. XLA itself makes such calls of
// loops over less than a kilobyte (its pass small-while-loop-hoisting). Two more kinds gain by it: other loops of small
// kernels, whose steps cost more than their work, and convolutions of one or few channels a group, which as plain loops
// are up to twenty times as fast as in the library that XLA calls for them. Such a function runs on one thread.
#pragma once

#include <map>
#include <string>

#include "hlo/module.h"

namespace smelt::xla {

// Names for people, by TileKey.
struct Callable {
  std::map<std::string, std::string> convolutions;
  std::map<std::string, std::string> loops;  // outermost ones
};

// Finds those of an unfused program that XLA can compile so, and that are not bound to be slow.
Callable FindCallable(const hlo::Module& module);

// All of the convolutions, wherever they stand.
void CallConvolutions(const Callable& callable, hlo::Module* module);

// A computation of its own for the instruction, and a call of it in its place.
void MakeCall(hlo::Instruction* instruction);

}  // namespace smelt::xla
