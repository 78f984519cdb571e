// What is said of a command line that is wrong: one line that names the word, and the nearest right one.
#pragma once

#include <string>

#include "CLI/CLI.hpp"

namespace smelt::cli {

// `smelt` and the verb that was read, if any.
std::string VerbName(const CLI::App& app);

// smelt: no verb `tuen`; did you mean `tune`? `smelt help` lists them
// Empty where the first word is a verb, or a flag.
std::string WrongVerb(const CLI::App& app, const std::string& word);

// smelt run: no flag `--chekc`; did you mean `--check`? `smelt run --help` lists them
std::string WrongWords(const CLI::App& app, const CLI::ParseError& error);

}  // namespace smelt::cli
