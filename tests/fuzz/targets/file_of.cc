#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "tests/fuzz/targets/target.h"

namespace smelt::fuzz {

std::string FileOf(const uint8_t* data, size_t size, const std::string& name) {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / ("smelt_fuzz_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  const std::filesystem::path path = folder / name;
  std::ofstream(path, std::ios::binary | std::ios::trunc)
      .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
  return path.string();
}

}  // namespace smelt::fuzz
