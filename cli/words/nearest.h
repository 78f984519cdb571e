// The word that was meant.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace smelt::cli {

// The candidate that takes the fewest changes (a letter more, less, another, or two neighbours exchanged); empty where
// none takes less than half of the word's letters.
std::string Nearest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace smelt::cli
