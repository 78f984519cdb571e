#include "measure/core_claim.h"

#include <sched.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "base/clock.h"
#include "measure/core_load.h"

namespace smelt::measure {
namespace {

constexpr double kLookSeconds = 0.04;  // four of Linux's ticks
constexpr double kOldSeconds = 5;      // after which a choice is made again
constexpr double kTaken = 4;           // what a core of somebody else's has to do beside what it does

// A core is claimed by a socket of its name in Linux's abstract namespace: there is no file that could be left behind,
// and the system lets go of it when the process ends, however it ends. -1: the system has no sockets; then only what
// cores do counts. None: somebody else has the core.
std::optional<int> Claim(int core) {
  const int socket = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return -1;
  const std::string name = absl::StrCat("smelt measures on core ", core);
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::memcpy(address.sun_path + 1, name.data(), name.size());
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + name.size());
  if (::bind(socket, reinterpret_cast<const sockaddr*>(&address), length) == 0) return socket;
  const bool taken = errno == EADDRINUSE;
  ::close(socket);
  return taken ? std::nullopt : std::optional<int>(-1);
}

void CloseAll(const std::vector<int>& sockets) {
  for (const int socket : sockets) {
    if (socket >= 0) ::close(socket);
  }
}

struct Claims {
  struct Claimed {
    std::shared_ptr<const CoreClaim> claim;
    std::optional<Clock::time_point> chosen;
  };
  std::mutex mutex;
  pid_t owner = 0;  // a process that was forked of this one has no claim yet
  std::map<int, Claimed> by_count;
};

Claims& MyClaims() {
  static Claims& claims = *new Claims;  // devices may end after static objects do
  return claims;
}

}  // namespace

CoreClaim::~CoreClaim() { CloseAll(sockets_); }

std::shared_ptr<const CoreClaim> CoreClaim::Choose(int count) {
  cpu_set_t allowed;
  if (::sched_getaffinity(0, sizeof(allowed), &allowed) != 0 || CPU_COUNT(&allowed) <= count) return nullptr;
  absl::StatusOr<std::vector<CoreLoad>> cores = LookAtCores(kLookSeconds);
  if (!cores.ok()) return nullptr;
  // Every turn finds one more core that is somebody else's.
  for (size_t turn = 0; turn <= cores->size(); ++turn) {
    std::vector<int> chosen = QuietestCores(*cores, count), sockets;
    CoreLoad* refused = nullptr;
    for (CoreLoad& core : *cores) {
      if (core.cpu < chosen.front() || core.cpu > chosen.back() || core.busy >= kTaken) continue;
      if (const std::optional<int> socket = Claim(core.cpu)) {
        sockets.push_back(*socket);
      } else {
        refused = &core;
        break;
      }
    }
    if (refused == nullptr) return std::shared_ptr<const CoreClaim>(new CoreClaim(chosen, sockets));
    CloseAll(sockets);
    refused->busy += kTaken;
  }
  return nullptr;
}

std::shared_ptr<const CoreClaim> CoreClaim::Take(int count) {
  Claims& claims = MyClaims();
  const std::lock_guard lock(claims.mutex);
  if (claims.owner != ::getpid()) claims.by_count.clear();
  claims.owner = ::getpid();
  Claims::Claimed& mine = claims.by_count[count];
  const bool in_use = mine.claim.use_count() > 1;
  if (in_use || (mine.chosen && Since(*mine.chosen) < kOldSeconds)) return mine.claim;
  mine.claim.reset();
  mine.claim = Choose(count);
  mine.chosen = Clock::now();
  return mine.claim;
}

void RunOn(const std::vector<int>& cores) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int core : cores) CPU_SET(core, &set);
  ::sched_setaffinity(0, sizeof(set), &set);
}

void StayOff(const std::vector<int>& cores) {
  cpu_set_t set;
  if (::sched_getaffinity(0, sizeof(set), &set) != 0) return;
  for (const int core : cores) CPU_CLR(core, &set);
  if (CPU_COUNT(&set) > 0) ::sched_setaffinity(0, sizeof(set), &set);
}

}  // namespace smelt::measure
