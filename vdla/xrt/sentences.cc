#include "vdla/xrt/sentences.h"

#include "vdla/driver/ports/xrt_plugin.h"

namespace smelt::vdla::xrt {
namespace {

constexpr Sentence kSentences[] = {
    {"XILINX_XRT not set", VDLA_XRT_INVALID, "XILINX_XRT is not set: run XRT's setup.sh"},
    {"No such library", VDLA_XRT_NOT_FOUND,
     "a library of XRT is missing: set XILINX_XRT to a folder whose lib/ has all"},
    {"Could not open device", VDLA_XRT_NOT_FOUND,
     "there is no such card, or its driver is not loaded: `xbutil examine` lists those that there are"},
    {"No such device", VDLA_XRT_NOT_FOUND,
     "there is no such card, or its driver is not loaded: `xbutil examine` lists those that there are"},
    {"invalid bdf", VDLA_XRT_INVALID, "device= is neither an index nor a PCIe address such as 0000:17:00.1"},
    {"Invalid BDF", VDLA_XRT_INVALID, "device= is neither an index nor a PCIe address such as 0000:17:00.1"},
    {"stoul", VDLA_XRT_INVALID, "device= is neither an index nor a PCIe address such as 0000:17:00.1"},
    {"Failed to open file", VDLA_XRT_NOT_FOUND, "the xclbin cannot be read"},
    {"Invalid xclbin", VDLA_XRT_INVALID, "the file is no xclbin for this card: build it for the card's platform"},
    {"No such kernel", VDLA_XRT_NOT_FOUND, "the xclbin has no kernel of that name: name it with kernel=NAME"},
    {"No compute units", VDLA_XRT_NOT_FOUND, "the xclbin has no kernel of that name: name it with kernel=NAME"},
    {"xclbin id mismatch", VDLA_XRT_LOST, "another process has programmed the card since: open the device again"},
    {"No such compute unit", VDLA_XRT_NOT_FOUND, "the xclbin has no kernel of that name: name it with kernel=NAME"},
    {"No such argument", VDLA_XRT_INVALID,
     "the kernel does not take (dram, instructions, count, status): take an xclbin of this driver's core"},
    {"out of range", VDLA_XRT_INVALID,
     "the kernel does not take (dram, instructions, count, status): take an xclbin of this driver's core"},
    {"_M_range_check", VDLA_XRT_INVALID,
     "the kernel does not take (dram, instructions, count, status): take an xclbin of this driver's core"},
    {"out_of_range", VDLA_XRT_INVALID,
     "the kernel does not take (dram, instructions, count, status): take an xclbin of this driver's core"},
    {"failed to allocate", VDLA_XRT_MEMORY,
     "the card has no memory of that size in one piece: take less with dram=BYTES"},
    {"bad allocation", VDLA_XRT_MEMORY, "the card has no memory of that size in one piece: take less with dram=BYTES"},
    {"bad_alloc", VDLA_XRT_MEMORY, "the card has no memory of that size in one piece: take less with dram=BYTES"},
    {"Cannot allocate memory", VDLA_XRT_MEMORY,
     "the card has no memory of that size in one piece: take less with dram=BYTES"},
};

}  // namespace

const Sentence* SentenceFor(std::string_view what) {
  for (const Sentence& sentence : kSentences) {
    if (what.find(sentence.part) != std::string_view::npos) return &sentence;
  }
  return nullptr;
}

Failure Explain(std::string_view doing, std::string_view what, int otherwise) {
  const Sentence* sentence = SentenceFor(what);
  std::string text(doing);
  text += ": ";
  if (sentence == nullptr) {
    text += "XRT says: ";
    text += what;
    return {otherwise, std::move(text)};
  }
  text += sentence->text;
  text += " (XRT says: ";
  text += what;
  text += ")";
  return {sentence->code, std::move(text)};
}

}  // namespace smelt::vdla::xrt
