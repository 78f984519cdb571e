#include "cli/words/command_line.h"

#include <iostream>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "cli/words/number_flags.h"
#include "cli/words/wrong_words.h"

namespace smelt::cli {

CommandLine::CommandLine(const std::string& name, const std::string& summary, const std::string& footer)
    : app_(std::make_unique<CLI::App>(summary, name)) {
  app_->footer(footer);
}

CommandLine::~CommandLine() = default;

void CommandLine::AddVerb(const VerbText& text, const Declaration& declare) {
  app_->require_subcommand(1);
  app_->get_formatter()->label("SUBCOMMAND", "VERB [...]");
  CLI::App* verb = app_->add_subcommand(text.name, text.summary)->group(text.heading);
  if (!text.example.empty()) verb->footer(absl::StrCat("Example:\n  ", text.example));
  Arguments arguments(verb);
  verb->callback([this, action = declare(arguments)] { chosen_ = action; });
  CheckNumbers(*verb);
}

void CommandLine::AddWords(const Declaration& declare) {
  Arguments arguments(app_.get());
  chosen_ = declare(arguments);
  CheckNumbers(*app_);
}

void CommandLine::AddVersion(const std::string& names, const std::function<std::string()>& version,
                             const std::string& help) {
  app_->set_version_flag(names, version, help);
}

CommandLine::Choice CommandLine::Read(std::vector<std::string> words) {
  const bool has_verbs = !app_->get_subcommands({}).empty();
  if (has_verbs && words.empty()) {
    std::cerr << app_->help();
    return {nullptr, 2};
  }
  if (has_verbs && words[0] == "help") {  // `help VERB` is `VERB --help`
    words.erase(words.begin());
    words.insert(words.begin() + (words.empty() ? 0 : 1), "--help");
  }
  if (const std::string wrong = has_verbs ? WrongVerb(*app_, words[0]) : ""; !wrong.empty()) {
    std::cerr << wrong << std::endl;
    return {nullptr, 2};
  }
  try {
    app_->parse(std::vector<std::string>(words.rbegin(), words.rend()));
  } catch (const CLI::ParseError& error) {
    if (error.get_exit_code() == 0) return {nullptr, app_->exit(error)};  // --help, --version
    std::cerr << WrongWords(*app_, error) << std::endl;
    return {nullptr, 2};
  }
  return {chosen_};
}

std::string CommandLine::Name() const { return VerbName(*app_); }

}  // namespace smelt::cli
