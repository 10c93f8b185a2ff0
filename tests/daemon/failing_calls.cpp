// A library to preload that makes system calls fail. TANGRAM_FAIL is KIND:FROM:COUNT: of the calls
// of that kind, counted over the whole process, the COUNT from number FROM on (the first is 1)
// fail. Each failure is logged in the file TANGRAM_FAIL_LOG, a line of the call's name. Kinds:
//   descriptors  EMFILE from what opens a descriptor
//   disk         EIO from what reads or writes a file or makes it durable
//   space        ENOSPC from what makes files and folders or writes to them
//   memory       ENOMEM or EAGAIN from what starts processes and threads
//   network      ECONNRESET, EADDRINUSE or EPERM from what a socket or a poll of sockets is used
//   for
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <dirent.h>
#include <dlfcn.h>
#include <fcntl.h>
#include <pthread.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <unistd.h>

namespace {

enum class Kind { kNone, kDescriptors, kDisk, kSpace, kMemory, kNetwork };

struct Plan {
  Kind kind = Kind::kNone;
  long from = 0;
  long count = 0;
};

Plan read_plan() {
  Plan plan;
  const char* text = std::getenv("TANGRAM_FAIL");
  if (text == nullptr) return plan;
  const auto is = [&](const char* kind) {
    return std::strncmp(text, kind, std::strlen(kind)) == 0 && text[std::strlen(kind)] == ':';
  };
  if (is("descriptors")) plan.kind = Kind::kDescriptors;
  if (is("disk")) plan.kind = Kind::kDisk;
  if (is("space")) plan.kind = Kind::kSpace;
  if (is("memory")) plan.kind = Kind::kMemory;
  if (is("network")) plan.kind = Kind::kNetwork;
  const char* at = std::strchr(text, ':');
  if (at == nullptr) return plan;
  char* end = nullptr;
  plan.from = std::strtol(at + 1, &end, 10);
  plan.count = *end == ':' ? std::strtol(end + 1, nullptr, 10) : 1;
  return plan;
}

void tell(const char* call) {
  const char* path = std::getenv("TANGRAM_FAIL_LOG");
  if (path == nullptr) return;
  const long file =
      ::syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
  if (file < 0) return;
  char line[64] = {};
  std::strncpy(line, call, sizeof(line) - 2);
  line[std::strlen(line)] = '\n';
  ::syscall(SYS_write, file, line, std::strlen(line));
  ::syscall(SYS_close, file);
}

// Counts a call of this kind. True: it is to fail, and errno says how.
bool fails(Kind kind, const char* call, int error) {
  static const Plan plan = read_plan();
  static std::atomic<long> calls = 0;
  if (plan.kind != kind) return false;
  const long number = ++calls;
  if (number < plan.from || number >= plan.from + plan.count) return false;
  tell(call);
  errno = error;
  return true;
}

bool no_descriptor(const char* call) { return fails(Kind::kDescriptors, call, EMFILE); }
bool no_space(const char* call) { return fails(Kind::kSpace, call, ENOSPC); }
bool disk_fails(const char* call) { return fails(Kind::kDisk, call, EIO); }

bool cannot_send(const char* call) { return fails(Kind::kNetwork, call, ENOBUFS); }
bool is_reset(int fd, const char* call) {
  if (!fails(Kind::kNetwork, call, ECONNRESET)) return false;
  ::syscall(SYS_shutdown, fd, SHUT_RDWR);
  errno = ECONNRESET;
  return true;
}

bool is_file(int fd) {
  struct stat found{};
  return ::fstat(fd, &found) == 0 && S_ISREG(found.st_mode);
}

template <class Function>
Function next(const char* name) {
  return reinterpret_cast<Function>(dlsym(RTLD_NEXT, name));
}

}  // namespace

#define NEXT(name) next<decltype(&name)>(#name)

extern "C" {

int open(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (no_descriptor("open") || ((flags & O_CREAT) != 0 && no_space("open"))) return -1;
  return static_cast<int>(::syscall(SYS_openat, AT_FDCWD, path, flags, mode));
}
int open64(const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  return open(path, flags, mode);
}
int openat(int folder, const char* path, int flags, ...) {
  va_list arguments;
  va_start(arguments, flags);
  const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(arguments, mode_t) : 0;
  va_end(arguments);
  if (no_descriptor("openat") || ((flags & O_CREAT) != 0 && no_space("openat"))) return -1;
  return static_cast<int>(::syscall(SYS_openat, folder, path, flags, mode));
}
DIR* opendir(const char* path) { return no_descriptor("opendir") ? nullptr : NEXT(opendir)(path); }
int socket(int domain, int type, int protocol) {
  return no_descriptor("socket") ? -1 : NEXT(socket)(domain, type, protocol);
}
int socketpair(int domain, int type, int protocol, int* pair) {
  return no_descriptor("socketpair") ? -1 : NEXT(socketpair)(domain, type, protocol, pair);
}
int accept(int fd, sockaddr* address, socklen_t* length) {
  return no_descriptor("accept") ? -1 : NEXT(accept)(fd, address, length);
}
int accept4(int fd, sockaddr* address, socklen_t* length, int flags) {
  return no_descriptor("accept4") ? -1 : NEXT(accept4)(fd, address, length, flags);
}
int pipe2(int* ends, int flags) { return no_descriptor("pipe2") ? -1 : NEXT(pipe2)(ends, flags); }
int eventfd(unsigned value, int flags) {
  return no_descriptor("eventfd") ? -1 : NEXT(eventfd)(value, flags);
}
int epoll_create1(int flags) {
  return no_descriptor("epoll_create1") ? -1 : NEXT(epoll_create1)(flags);
}
int timerfd_create(int clock, int flags) {
  return no_descriptor("timerfd_create") ? -1 : NEXT(timerfd_create)(clock, flags);
}
int dup(int fd) { return no_descriptor("dup") ? -1 : NEXT(dup)(fd); }

ssize_t write(int fd, const void* bytes, size_t count) {
  if (is_file(fd) && (disk_fails("write") || no_space("write"))) return -1;
  return NEXT(write)(fd, bytes, count);
}
ssize_t pwrite(int fd, const void* bytes, size_t count, off_t at) {
  return disk_fails("pwrite") || no_space("pwrite") ? -1 : NEXT(pwrite)(fd, bytes, count, at);
}
ssize_t pwrite64(int fd, const void* bytes, size_t count, off64_t at) {
  return disk_fails("pwrite64") || no_space("pwrite64") ? -1 : NEXT(pwrite64)(fd, bytes, count, at);
}
ssize_t read(int fd, void* bytes, size_t count) {
  return is_file(fd) && disk_fails("read") ? -1 : NEXT(read)(fd, bytes, count);
}
ssize_t pread(int fd, void* bytes, size_t count, off_t at) {
  return disk_fails("pread") ? -1 : NEXT(pread)(fd, bytes, count, at);
}
ssize_t pread64(int fd, void* bytes, size_t count, off64_t at) {
  return disk_fails("pread64") ? -1 : NEXT(pread64)(fd, bytes, count, at);
}
int fdatasync(int fd) { return disk_fails("fdatasync") ? -1 : NEXT(fdatasync)(fd); }
int fsync(int fd) { return disk_fails("fsync") ? -1 : NEXT(fsync)(fd); }
int ftruncate(int fd, off_t length) {
  return disk_fails("ftruncate") || no_space("ftruncate") ? -1 : NEXT(ftruncate)(fd, length);
}
int ftruncate64(int fd, off64_t length) {
  return disk_fails("ftruncate64") || no_space("ftruncate64") ? -1 : NEXT(ftruncate64)(fd, length);
}
int fallocate(int fd, int mode, off_t at, off_t length) {
  return no_space("fallocate") ? -1 : NEXT(fallocate)(fd, mode, at, length);
}
int posix_fallocate(int fd, off_t at, off_t length) {
  return no_space("posix_fallocate") ? ENOSPC : NEXT(posix_fallocate)(fd, at, length);
}
int mkdir(const char* path, mode_t mode) {
  return disk_fails("mkdir") || no_space("mkdir") ? -1 : NEXT(mkdir)(path, mode);
}
int mkdirat(int folder, const char* path, mode_t mode) {
  return disk_fails("mkdirat") || no_space("mkdirat") ? -1 : NEXT(mkdirat)(folder, path, mode);
}
int rename(const char* from, const char* to) {
  return disk_fails("rename") || no_space("rename") ? -1 : NEXT(rename)(from, to);
}
int link(const char* from, const char* to) {
  return disk_fails("link") || no_space("link") ? -1 : NEXT(link)(from, to);
}
int unlink(const char* path) { return disk_fails("unlink") ? -1 : NEXT(unlink)(path); }

pid_t fork() { return fails(Kind::kMemory, "fork", ENOMEM) ? -1 : NEXT(fork)(); }
int posix_spawn(pid_t* pid, const char* path, const posix_spawn_file_actions_t* actions,
                const posix_spawnattr_t* attributes, char* const* arguments,
                char* const* environment) {
  if (fails(Kind::kMemory, "posix_spawn", ENOMEM)) return ENOMEM;
  return NEXT(posix_spawn)(pid, path, actions, attributes, arguments, environment);
}
int pthread_create(pthread_t* thread, const pthread_attr_t* attributes, void* (*run)(void*),
                   void* argument) {
  if (fails(Kind::kMemory, "pthread_create", EAGAIN)) return EAGAIN;
  return NEXT(pthread_create)(thread, attributes, run, argument);
}

int connect(int fd, const sockaddr* address, socklen_t length) {
  if (fails(Kind::kNetwork, "connect", ECONNREFUSED)) return -1;
  return NEXT(connect)(fd, address, length);
}
int bind(int fd, const sockaddr* address, socklen_t length) {
  if (fails(Kind::kNetwork, "bind", EADDRINUSE)) return -1;
  return NEXT(bind)(fd, address, length);
}
int listen(int fd, int backlog) {
  return fails(Kind::kNetwork, "listen", EADDRINUSE) ? -1 : NEXT(listen)(fd, backlog);
}
ssize_t send(int fd, const void* bytes, size_t count, int flags) {
  return cannot_send("send") ? -1 : NEXT(send)(fd, bytes, count, flags);
}
ssize_t recv(int fd, void* bytes, size_t count, int flags) {
  return is_reset(fd, "recv") ? -1 : NEXT(recv)(fd, bytes, count, flags);
}
ssize_t sendmsg(int fd, const msghdr* message, int flags) {
  return cannot_send("sendmsg") ? -1 : NEXT(sendmsg)(fd, message, flags);
}
ssize_t recvmsg(int fd, msghdr* message, int flags) {
  return is_reset(fd, "recvmsg") ? -1 : NEXT(recvmsg)(fd, message, flags);
}
ssize_t readv(int fd, const iovec* parts, int count) {
  return is_reset(fd, "readv") ? -1 : NEXT(readv)(fd, parts, count);
}
ssize_t writev(int fd, const iovec* parts, int count) {
  return cannot_send("writev") ? -1 : NEXT(writev)(fd, parts, count);
}
int getsockopt(int fd, int level, int name, void* value, socklen_t* length) {
  if (fails(Kind::kNetwork, "getsockopt", EPERM)) return -1;
  return NEXT(getsockopt)(fd, level, name, value, length);
}
int setsockopt(int fd, int level, int name, const void* value, socklen_t length) {
  if (fails(Kind::kNetwork, "setsockopt", EPERM)) return -1;
  return NEXT(setsockopt)(fd, level, name, value, length);
}
int shutdown(int fd, int how) {
  return fails(Kind::kNetwork, "shutdown", ENOTCONN) ? -1 : NEXT(shutdown)(fd, how);
}

}  // extern "C"
