#include "cli/words/wrong_words.h"

#include <algorithm>
#include <vector>

#include "absl/strings/str_cat.h"
#include "cli/words/nearest.h"

namespace smelt::cli {
namespace {

const CLI::App& Parsed(const CLI::App& app) {
  const std::vector<CLI::App*> verbs = app.get_subcommands();
  return verbs.empty() ? app : *verbs[0];
}

std::string Unknown(const std::string& whose, const std::string& kind, const std::string& word,
                    const std::string& nearest, const std::string& list) {
  return absl::StrCat(whose, ": no ", kind, " `", word, "`; ",
                      nearest.empty() ? "" : absl::StrCat("did you mean `", nearest, "`? "), "`", list, "` lists them");
}

// The word that looks like a flag, without its value; empty where none does.
std::string UnknownFlag(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    if (word.size() > 1 && word[0] == '-' && word != "--") return word.substr(0, word.find('='));
  }
  return "";
}

std::string NearestFlag(const CLI::App& verb, const std::string& flag) {
  std::vector<std::string> names;
  for (const CLI::Option* option : verb.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(name);
  }
  const std::string nearest = Nearest(flag.substr(std::min(flag.find_first_not_of('-'), flag.size())), names);
  return nearest.empty() ? "" : absl::StrCat("--", nearest);
}

}  // namespace

std::string VerbName(const CLI::App& app) {
  const CLI::App& verb = Parsed(app);
  return &verb == &app ? app.get_name() : absl::StrCat(app.get_name(), " ", verb.get_name());
}

std::string WrongVerb(const CLI::App& app, const std::string& word) {
  if (word.starts_with("-")) return "";
  std::vector<std::string> names;
  for (const CLI::App* verb : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (verb->check_name(word)) return "";
    if (!verb->get_group().empty()) names.push_back(verb->get_name());
  }
  return Unknown(app.get_name(), "verb", word, Nearest(word, names), absl::StrCat(app.get_name(), " help"));
}

std::string WrongWords(const CLI::App& app, const CLI::ParseError& error) {
  const std::string name = VerbName(app), help = absl::StrCat(name, " --help");
  // A flag that does not exist may be why another is missing: it is told first.
  const std::vector<std::string> unknown = app.remaining(/*recurse=*/true);
  if (const std::string flag = UnknownFlag(unknown); !flag.empty())
    return Unknown(name, "flag", flag, NearestFlag(Parsed(app), flag), help);
  if (!unknown.empty())
    return absl::StrCat(name, ": `", unknown[0], "` is one word too many; `", help, "` says what it takes");
  return absl::StrCat(name, ": ", error.what(), "; `", help, "` explains the flags");
}

}  // namespace smelt::cli
