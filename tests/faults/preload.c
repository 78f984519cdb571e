// Makes one system call of a program fail: a library for LD_PRELOAD, driven by tests/faults/inject.py.
//
//   SMELT_FAULT='write 3 ENOSPC once main' SMELT_FAULT_STATE=FILE SMELT_FAULT_PATHS=/tmp/run:/tmp/cache
//
// lets the third write to a file below those paths fail in the program itself; `stuck` instead of `once` all that
// follow as well, `child` instead of `main` those of its measuring children, counted over all of them. FILE holds the
// counts: zeros at first, a 64-bit number for each call of kCalls, those of the program first. Errors are errno's
// names; SHORT writes half, KILL ends the process at that call.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

// The order is that of CALLS in inject.py. `send` and `receive` are writes and reads of pipes.
enum Call {
  OPEN,
  READ,
  WRITE,
  PWRITE,
  FSYNC,
  RENAME,
  TRUNCATE,
  CLOSE,
  LOCK,
  MKDIR,
  UNLINK,
  MMAP,
  MALLOC,
  FORK,
  EXEC,
  WAIT,
  PIPE,
  POLL,
  SEND,
  RECEIVE,
  CALLS
};
static const char* const kCalls[CALLS] = {"open",  "read", "write", "pwrite", "fsync", "rename", "truncate",
                                          "close", "lock", "mkdir", "unlink", "mmap",  "malloc", "fork",
                                          "exec",  "wait", "pipe",  "poll",   "send",  "receive"};
static const struct {
  const char* name;
  int number;
} kErrors[] = {{"ENOSPC", ENOSPC}, {"EIO", EIO},       {"ENOMEM", ENOMEM}, {"EINTR", EINTR},
               {"EACCES", EACCES}, {"EMFILE", EMFILE}, {"EAGAIN", EAGAIN}, {"ECHILD", ECHILD},
               {"ENOENT", ENOENT}, {"EDQUOT", EDQUOT}, {"SHORT", -1},      {"KILL", -2}};
enum { kShort = -1, kKill = -2, kLeastBytes = 1 << 16 };

static _Atomic unsigned long* counts;  // of this kind of process; null: nothing is counted, nothing fails
static int struck_call = -1, struck_error, stuck;
static unsigned long nth;
static char paths[4096];

// Whether this process is a measuring child: its second word says so, or it is a Python.
static int IsChild(void) {
  char words[512] = {0};
  const int file = (int)syscall(SYS_openat, AT_FDCWD, "/proc/self/cmdline", O_RDONLY | O_CLOEXEC, 0);
  const long size = syscall(SYS_read, file, words, sizeof(words) - 1);
  syscall(SYS_close, file);
  const size_t first = strlen(words);
  if (size <= 0 || first + 1 >= (size_t)size) return 0;
  return strcmp(words + first + 1, "measure-worker") == 0 || strcmp(words + first + 1, "-c") == 0;
}

__attribute__((constructor)) static void Begin(void) {
  const char *state = getenv("SMELT_FAULT_STATE"), *fault = getenv("SMELT_FAULT"), *below = getenv("SMELT_FAULT_PATHS");
  if (state == NULL || below == NULL || strlen(below) >= sizeof(paths)) return;
  strcpy(paths, below);
  const int child = IsChild();
  char call[32], error[32], how[32], where[32];
  if (fault != NULL && sscanf(fault, "%31s %lu %31s %31s %31s", call, &nth, error, how, where) == 5 &&
      child == (strcmp(where, "child") == 0)) {
    for (int i = 0; i < CALLS; ++i)
      if (strcmp(call, kCalls[i]) == 0) struck_call = i;
    for (size_t i = 0; i < sizeof(kErrors) / sizeof(kErrors[0]); ++i)
      if (strcmp(error, kErrors[i].name) == 0) struck_error = kErrors[i].number;
    stuck = strcmp(how, "stuck") == 0;
  }
  const int file = (int)syscall(SYS_openat, AT_FDCWD, state, O_RDWR | O_CLOEXEC, 0);
  if (file < 0) return;
  void* shared = (void*)syscall(SYS_mmap, NULL, 4096, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
  syscall(SYS_close, file);
  if (shared != MAP_FAILED) counts = (_Atomic unsigned long*)shared + (child ? CALLS : 0);
}

// Counts the call and says whether it is to fail, with errno set; `kShort` is for calls that can do half.
static int Strikes(enum Call call) {
  if (counts == NULL) return 0;
  const unsigned long number = atomic_fetch_add(&counts[call], 1) + 1;
  if ((int)call != struck_call || (stuck ? number < nth : number != nth)) return 0;
  if (struck_error == kKill) syscall(SYS_kill, getpid(), SIGKILL);
  errno = struck_error == kShort ? ENOSPC : struck_error;
  return struck_error == kShort ? kShort : 1;
}

static int IsBelow(const char* path) {
  if (counts == NULL || path == NULL) return 0;
  for (const char* at = paths; *at != 0;) {
    const size_t length = strcspn(at, ":");
    if (strncmp(path, at, length) == 0) return 1;
    at += length + (at[length] == ':');
  }
  return 0;
}

// What a descriptor is: a file below the paths, a pipe, or nothing that counts.
enum Kind { OTHER, FILE_BELOW, A_PIPE };
static enum Kind KindOf(int descriptor) {
  if (counts == NULL || descriptor < 0) return OTHER;
  char link[64], path[4096];
  const int saved = errno;
  snprintf(link, sizeof(link), "/proc/self/fd/%d", descriptor);
  const long size = syscall(SYS_readlinkat, AT_FDCWD, link, path, sizeof(path) - 1);
  errno = saved;
  if (size <= 0) return OTHER;
  path[size] = 0;
  return strncmp(path, "pipe:", 5) == 0 ? A_PIPE : IsBelow(path) ? FILE_BELOW : OTHER;
}
static int FileStrikes(enum Call call, int descriptor) { return KindOf(descriptor) == FILE_BELOW ? Strikes(call) : 0; }
static int PathStrikes(enum Call call, const char* path) { return IsBelow(path) ? Strikes(call) : 0; }
static int StreamStrikes(int descriptor, enum Call of_file, enum Call of_pipe) {
  const enum Kind kind = KindOf(descriptor);
  return kind == FILE_BELOW                                     ? Strikes(of_file)
         : kind == A_PIPE && descriptor != 1 && descriptor != 2 ? Strikes(of_pipe)
                                                                : 0;
}

#define REAL(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))

static mode_t ModeOf(int flags, va_list more) {
  return (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(more, mode_t) : 0;
}
#define OPEN_LIKE(name, folder, ...)                            \
  int name(__VA_ARGS__, const char* path, int flags, ...) {     \
    va_list more;                                               \
    va_start(more, flags);                                      \
    const mode_t mode = ModeOf(flags, more);                    \
    va_end(more);                                               \
    if (PathStrikes(OPEN, path)) return -1;                     \
    return (int)syscall(SYS_openat, folder, path, flags, mode); \
  }
OPEN_LIKE(openat, folder, int folder)
OPEN_LIKE(openat64, folder, int folder)
#define OPEN_HERE(name)                                           \
  int name(const char* path, int flags, ...) {                    \
    va_list more;                                                 \
    va_start(more, flags);                                        \
    const mode_t mode = ModeOf(flags, more);                      \
    va_end(more);                                                 \
    if (PathStrikes(OPEN, path)) return -1;                       \
    return (int)syscall(SYS_openat, AT_FDCWD, path, flags, mode); \
  }
OPEN_HERE(open)
OPEN_HERE(open64)
FILE* fopen(const char* path, const char* mode) { return PathStrikes(OPEN, path) ? NULL : REAL(fopen)(path, mode); }
FILE* fopen64(const char* path, const char* mode) { return PathStrikes(OPEN, path) ? NULL : REAL(fopen64)(path, mode); }
DIR* opendir(const char* path) { return PathStrikes(OPEN, path) ? NULL : REAL(opendir)(path); }

ssize_t read(int file, void* bytes, size_t size) {
  return StreamStrikes(file, READ, RECEIVE) ? -1 : syscall(SYS_read, file, bytes, size);
}
ssize_t pread(int file, void* bytes, size_t size, off_t at) {
  return FileStrikes(READ, file) ? -1 : syscall(SYS_pread64, file, bytes, size, at);
}
ssize_t pread64(int file, void* bytes, size_t size, off64_t at) {
  return FileStrikes(READ, file) ? -1 : syscall(SYS_pread64, file, bytes, size, at);
}
size_t fread(void* bytes, size_t size, size_t count, FILE* file) {
  if (file != NULL && FileStrikes(READ, fileno(file))) {
    // The stream is to know of it, as of a real one.
    const int saved = errno, own = dup(fileno(file));
    syscall(SYS_dup3, syscall(SYS_openat, AT_FDCWD, "/", O_RDONLY | O_DIRECTORY, 0), fileno(file), 0);
    const size_t done = REAL(fread)(bytes, size, count, file);
    syscall(SYS_dup3, own, fileno(file), 0);
    syscall(SYS_close, own);
    errno = saved;
    return done;
  }
  return REAL(fread)(bytes, size, count, file);
}

ssize_t write(int file, const void* bytes, size_t size) {
  const int strikes = StreamStrikes(file, WRITE, SEND);
  if (strikes > 0) return -1;
  return syscall(SYS_write, file, bytes, strikes == kShort && size > 1 ? size / 2 : size);
}
ssize_t writev(int file, const struct iovec* parts, int count) {
  return StreamStrikes(file, WRITE, SEND) ? -1 : syscall(SYS_writev, file, parts, count);
}
ssize_t pwrite(int file, const void* bytes, size_t size, off_t at) {
  const int strikes = FileStrikes(PWRITE, file);
  if (strikes > 0) return -1;
  return syscall(SYS_pwrite64, file, bytes, strikes == kShort && size > 1 ? size / 2 : size, at);
}
ssize_t pwrite64(int file, const void* bytes, size_t size, off64_t at) { return pwrite(file, bytes, size, at); }

int fsync(int file) { return FileStrikes(FSYNC, file) ? -1 : (int)syscall(SYS_fsync, file); }
int fdatasync(int file) { return FileStrikes(FSYNC, file) ? -1 : (int)syscall(SYS_fdatasync, file); }
int ftruncate(int file, off_t size) {
  return FileStrikes(TRUNCATE, file) ? -1 : (int)syscall(SYS_ftruncate, file, size);
}
int ftruncate64(int file, off64_t size) { return ftruncate(file, size); }
int close(int file) {
  const int strikes = FileStrikes(CLOSE, file), saved = errno;
  const int result = (int)syscall(SYS_close, file);
  if (strikes) errno = saved;
  return strikes ? -1 : result;
}
#define LOCK_LIKE(name)                                                                    \
  int name(int file, int command, ...) {                                                   \
    va_list more;                                                                          \
    va_start(more, command);                                                               \
    void* argument = va_arg(more, void*);                                                  \
    va_end(more);                                                                          \
    if ((command == F_SETLK || command == F_SETLKW) && FileStrikes(LOCK, file)) return -1; \
    return (int)syscall(SYS_fcntl, file, command, argument);                               \
  }
LOCK_LIKE(fcntl)
LOCK_LIKE(fcntl64)

int rename(const char* from, const char* to) {
  return PathStrikes(RENAME, to) ? -1 : (int)syscall(SYS_rename, from, to);
}
int mkdir(const char* path, mode_t mode) { return PathStrikes(MKDIR, path) ? -1 : (int)syscall(SYS_mkdir, path, mode); }
int unlink(const char* path) { return PathStrikes(UNLINK, path) ? -1 : (int)syscall(SYS_unlink, path); }
int unlinkat(int folder, const char* path, int flags) {
  return FileStrikes(UNLINK, folder) || PathStrikes(UNLINK, path) ? -1
                                                                  : (int)syscall(SYS_unlinkat, folder, path, flags);
}
int remove(const char* path) { return PathStrikes(UNLINK, path) ? -1 : REAL(remove)(path); }

void* mmap(void* at, size_t size, int protection, int flags, int file, off_t offset) {
  if (Strikes(MMAP)) return MAP_FAILED;
  return (void*)syscall(SYS_mmap, at, size, protection, flags, file, offset);
}
void* mmap64(void* at, size_t size, int protection, int flags, int file, off64_t offset) {
  return mmap(at, size, protection, flags, file, offset);
}
// Only blocks that are large enough to be refused by a machine without memory.
extern void* __libc_malloc(size_t);
extern void* __libc_calloc(size_t, size_t);
extern void* __libc_realloc(void*, size_t);
extern void* __libc_memalign(size_t, size_t);
static int MemoryStrikes(size_t bytes) { return bytes >= kLeastBytes && Strikes(MALLOC); }
void* malloc(size_t bytes) { return MemoryStrikes(bytes) ? NULL : __libc_malloc(bytes); }
void* calloc(size_t count, size_t bytes) { return MemoryStrikes(count * bytes) ? NULL : __libc_calloc(count, bytes); }
void* realloc(void* block, size_t bytes) { return MemoryStrikes(bytes) ? NULL : __libc_realloc(block, bytes); }
void* aligned_alloc(size_t place, size_t bytes) { return MemoryStrikes(bytes) ? NULL : __libc_memalign(place, bytes); }

pid_t fork(void) { return Strikes(FORK) ? -1 : REAL(fork)(); }
int execv(const char* path, char* const words[]) { return Strikes(EXEC) ? -1 : REAL(execv)(path, words); }
pid_t waitpid(pid_t child, int* status, int options) {
  return Strikes(WAIT) ? -1 : (pid_t)syscall(SYS_wait4, child, status, options, NULL);
}
int pipe2(int ends[2], int flags) { return Strikes(PIPE) ? -1 : (int)syscall(SYS_pipe2, ends, flags); }
int poll(struct pollfd* descriptors, nfds_t count, int milliseconds) {
  return Strikes(POLL) ? -1 : (int)syscall(SYS_poll, descriptors, count, milliseconds);
}
