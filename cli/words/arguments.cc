#include "cli/words/arguments.h"

#include "CLI/CLI.hpp"
#include "cli/words/number_flags.h"

namespace smelt::cli {

Argument Argument::Required() { return Argument(option_->required()); }
Argument Argument::ShowsDefault() { return Argument(option_->capture_default_str()); }
Argument Argument::Group(const std::string& heading) { return Argument(option_->group(heading)); }
Argument Argument::Excludes(Argument other) { return Argument(option_->excludes(other.option_)); }
Argument Argument::Expects(int least, int most) { return Argument(option_->expected(least, most)); }
Argument Argument::SplitAt(char delimiter) { return Argument(option_->delimiter(delimiter)); }
Argument Argument::Size() { return Argument(option_->transform(CLI::AsSizeValue(/*kb_is_1000=*/false))); }

Argument Argument::Between(int low, int high) { return Argument(option_->check(CLI::Range(low, high))); }
Argument Argument::Between(double low, double high) { return Argument(option_->check(CLI::Range(low, high))); }
Argument Argument::Positive() { return Argument(option_->check(cli::Positive())); }
Argument Argument::NotNegative() { return Argument(option_->check(cli::NotNegative())); }
Argument Argument::OneOf(const std::vector<std::string>& words) {
  return Argument(option_->check(CLI::IsMember(words)));
}
Argument Argument::OneOfOrBetween(const std::vector<std::string>& words, int low, int high) {
  return Argument(option_->check(CLI::IsMember(words) | CLI::Range(low, high)));
}
Argument Argument::ExistingFile() { return Argument(option_->check(CLI::ExistingFile)); }
Argument Argument::ExistingFolder() { return Argument(option_->check(CLI::ExistingDirectory)); }
Argument Argument::Check(const std::function<std::string(const std::string&)>& wrong) {
  return Argument(option_->check(wrong));
}

bool Argument::Given() const { return option_->count() > 0; }

// A new type of value is a line here and in the header.
Argument Arguments::Add(const std::string& names, std::string& value, const std::string& help) {
  return Argument(app_->add_option(names, value, help));
}
Argument Arguments::Add(const std::string& names, std::vector<std::string>& values, const std::string& help) {
  return Argument(app_->add_option(names, values, help));
}
Argument Arguments::Add(const std::string& names, int& value, const std::string& help) {
  return Argument(app_->add_option(names, value, help));
}
Argument Arguments::Add(const std::string& names, std::vector<int>& values, const std::string& help) {
  return Argument(app_->add_option(names, values, help));
}
Argument Arguments::Add(const std::string& names, int64_t& value, const std::string& help) {
  return Argument(app_->add_option(names, value, help));
}
Argument Arguments::Add(const std::string& names, std::vector<int64_t>& values, const std::string& help) {
  return Argument(app_->add_option(names, values, help));
}
Argument Arguments::Add(const std::string& names, uint32_t& value, const std::string& help) {
  return Argument(app_->add_option(names, value, help));
}
Argument Arguments::Add(const std::string& names, uint64_t& value, const std::string& help) {
  return Argument(app_->add_option(names, value, help));
}
Argument Arguments::Add(const std::string& names, double& value, const std::string& help) {
  return Argument(app_->add_option(names, value, help));
}

Argument Arguments::AddFlag(const std::string& names, bool& value, const std::string& help) {
  return Argument(app_->add_flag(names, value, help));
}

Argument Arguments::Get(const std::string& name) const { return Argument(app_->get_option(name)); }

void Arguments::LeaveWords() {
  app_->set_help_flag();
  app_->prefix_command();
}

std::vector<std::string> Arguments::Words() const { return app_->remaining(); }

}  // namespace smelt::cli
