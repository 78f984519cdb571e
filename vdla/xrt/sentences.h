// What XRT throws, as one sentence for the user.
//
//   const Sentence* sentence = SentenceFor("Could not open device with index '3'");
//   int code = sentence->code;   // VDLA_XRT_NOT_FOUND
//
// The texts are those of XRT 2.13, by parts that do not change with the arguments.
#pragma once

#include <string>
#include <string_view>

namespace smelt::vdla::xrt {

struct Sentence {
  std::string_view part;  // of XRT's text
  int code;               // VdlaXrtCode
  std::string_view text;  // what it means, and what to do
};

// Null: a text that is not known, which is handed on as it is.
const Sentence* SentenceFor(std::string_view what);

// "opening card 3: there is no such card ... (XRT: Could not open device with index '3')", and its code; `otherwise`
// where the text is not known.
struct Failure {
  int code;
  std::string text;
};
Failure Explain(std::string_view doing, std::string_view what, int otherwise);

}  // namespace smelt::vdla::xrt
