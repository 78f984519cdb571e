// A program's command line: what it takes, and what its words ask for.
//
//   CommandLine line("smelt", "Tunes programs", "`smelt help VERB` explains a verb.");
//   line.AddVerb({.name = "tune", .summary = "Searches", .example = "smelt tune m.hlo"}, [](Arguments& arguments) {
//     auto module = std::make_shared<std::string>();
//     arguments.Add("MODULE", *module, "HLO text").Required();
//     return [module] { return absl::OkStatus(); };
//   });
//   const CommandLine::Choice choice = line.Read({"tune", "m.hlo"});
//   if (choice.action != nullptr) choice.action();
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "cli/words/arguments.h"

namespace smelt::cli {

using Action = std::function<absl::Status()>;

class CommandLine {
 public:
  // Adds flags and words, and returns what is to be done once they are read.
  using Declaration = std::function<Action(Arguments& arguments)>;

  struct VerbText {
    std::string name, summary;
    std::string heading;  // of its place in the overview; empty: it is hidden there
    std::string example;
  };

  // The overview, or --help, ends with the footer.
  CommandLine(const std::string& name, const std::string& summary, const std::string& footer);
  ~CommandLine();

  // A program has verbs, or flags and words of its own.
  void AddVerb(const VerbText& text, const Declaration& declare);
  void AddWords(const Declaration& declare);
  // A flag that prints a text instead of anything else.
  void AddVersion(const std::string& names, const std::function<std::string()>& version, const std::string& help);

  struct Choice {
    Action action;      // null: there is nothing to do; help was printed, or what is wrong with the words
    int exit_code = 0;  // then: 0 or 2
  };
  // Called once. Help goes to standard output, what is wrong to standard error. An action may ask its arguments as long
  // as this lives.
  Choice Read(std::vector<std::string> words);

  // `smelt`, with the verb that was read, if any.
  std::string Name() const;

 private:
  std::unique_ptr<CLI::App> app_;
  Action chosen_;
};

}  // namespace smelt::cli
