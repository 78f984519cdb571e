#include "hlo/text/reserved_words.h"

#include <algorithm>
#include <iterator>

#include "hlo/primitive_type.h"

namespace smelt::hlo::text {
namespace {

// The keywords of XLA's reader, sorted.
constexpr std::string_view kKeywords[] = {
    "ENTRY",      "FileLocations", "FileNames", "FunctionNames", "HloModule",
    "ROOT",       "StackFrames",   "false",     "inf",           "last_tile_dim_replicate",
    "manual",     "maximal",       "nan",       "replicated",    "shard_as",
    "shard_like", "true",          "unknown",   "unreduced"};
constexpr size_t kShortest = 2, kLongest = std::string_view("last_tile_dim_replicate").size();

}  // namespace

bool IsReservedWord(std::string_view word) {
  if (word.size() < kShortest || word.size() > kLongest || word.find('.') != std::string_view::npos) return false;
  return PrimitiveTypeFromName(word).value_or(PrimitiveType::kTuple) != PrimitiveType::kTuple ||
         std::binary_search(std::begin(kKeywords), std::end(kKeywords), word);
}

}  // namespace smelt::hlo::text
