// The flags and words that a verb takes, each read into a variable.
//
//   std::string module;  // these outlive the reading
//   int64_t top = 10;
//   bool json = false;
//   arguments.Add("MODULE", module, "HLO text").Required();
//   arguments.Add("--top", top, "Tiles to show").Between(1, 1000000).ShowsDefault();
//   arguments.AddFlag("--json", json, "Machine-readable result on standard output");
//
// CLI11 reads the words; nothing outside this folder sees it. It is header-only, and a file that includes it compiles
// all of it once more, which takes seconds.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace smelt::cli {

// One flag that takes a value, or one word that has a place of its own. A handle: copies are of the same flag.
//
// What a value must be is checked in the order in which it is said here, and --help lists it so. A value that is not so
// is wrong use: one line on standard error, exit code 2.
class Argument {
 public:
  explicit Argument(CLI::Option* option) : option_(option) {}

  Argument Required();
  Argument ShowsDefault();  // --help has what the variable holds now
  Argument Group(const std::string& heading);
  Argument Excludes(Argument other);  // which then excludes this one too
  // How many values it takes; Expects(0, 1): `--schedule` alone, or `--schedule=FILE`.
  Argument Expects(int least, int most);
  Argument SplitAt(char delimiter);  // a,b is two values
  Argument Size();                   // bytes, or as 500M, 4G: powers of 1024

  Argument Between(int low, int high);  // both included, as below
  Argument Between(double low, double high);
  Argument Positive();     // above 0, and up to 1e9
  Argument NotNegative();  // 0, or such a number
  Argument OneOf(const std::vector<std::string>& words);
  Argument OneOfOrBetween(const std::vector<std::string>& words, int low, int high);
  Argument ExistingFile();
  Argument ExistingFolder();
  // What is wrong with a value, or nothing.
  Argument Check(const std::function<std::string(const std::string& value)>& wrong);

  // Once the words are read: whether they have it.
  bool Given() const;

 private:
  CLI::Option* option_;  // of CLI::App, which owns it
};

// What a verb takes. A handle: copies are of the same verb.
class Arguments {
 public:
  explicit Arguments(CLI::App* app) : app_(app) {}

  // Names are those of a flag, as in `-o,--out`, or the one that --help gives to a word, as in `MODULE`. Words take
  // their places in the order of these calls; the last one may be a list.
  Argument Add(const std::string& names, std::string& value, const std::string& help = "");
  Argument Add(const std::string& names, std::vector<std::string>& values, const std::string& help = "");
  Argument Add(const std::string& names, int& value, const std::string& help = "");
  Argument Add(const std::string& names, std::vector<int>& values, const std::string& help = "");
  Argument Add(const std::string& names, int64_t& value, const std::string& help = "");
  Argument Add(const std::string& names, std::vector<int64_t>& values, const std::string& help = "");
  Argument Add(const std::string& names, uint32_t& value, const std::string& help = "");
  Argument Add(const std::string& names, uint64_t& value, const std::string& help = "");
  Argument Add(const std::string& names, double& value, const std::string& help = "");
  // A flag without a value, which makes `value` true.
  Argument AddFlag(const std::string& names, bool& value, const std::string& help);

  // One that was added, by any name of it.
  Argument Get(const std::string& name) const;

  // All words after the verb, --help among them, are another program's. None is read here; Words() has them then.
  void LeaveWords();
  std::vector<std::string> Words() const;

 private:
  CLI::App* app_;  // of the command line, which owns it
};

}  // namespace smelt::cli
