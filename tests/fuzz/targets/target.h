// What a libFuzzer target is: a function of any bytes that must neither crash nor hang, whatever they are.
//
// Each .cc file beside this one is one target. Built with -DSMELT_FUZZERS=ON: with Clang and its fuzzer runtime
// (Debian's libclang-rt-19-dev) as a fuzzer, else as a program that runs the files and folders of its command line
// through the target, and cut and changed copies of each (run_files.cc). Corpora to begin with: make_corpus.sh.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

namespace smelt::fuzz {

// The path of a file, rewritten at each call, that holds these bytes: for readers that take a path.
std::string FileOf(const uint8_t* data, size_t size, const std::string& name);

}  // namespace smelt::fuzz
