/* A client in C that is independent of this project: it opens a libnvidia-ml.so.1, looks functions
 * up by name, has its own small declarations, and creates, uses and destroys an instance. Where an
 * old symbol has a smaller struct than its successor, it checks the bytes behind it. Works on any
 * idle GPU with MIG mode on. Usage: life_cycle LIBRARY. It goes on after a failure, prints each,
 * and exits with 1 if there was any. */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef void* handle;
typedef struct {
  unsigned start, size;
} placement;
typedef struct {
  unsigned long long total, free, used;
} memory;
typedef struct {
  unsigned id, p2p, slices, instances, sms, copy, dec, enc, jpeg, ofa;
  unsigned long long memory_mb;
} gi_profile;
typedef struct {
  unsigned id, slices, instances, sms, copy, dec, enc, jpeg, ofa;
} ci_profile;
typedef struct {
  handle device;
  unsigned id, profile;
  placement place;
} gi_info;
typedef struct {
  handle device, gi;
  unsigned id, profile;
  placement place;
} ci_info;
typedef struct {
  unsigned sms, copy, dec, enc, jpeg, ofa, gi_slices, ci_slices;
  unsigned long long memory_mb;
} attributes;
typedef struct {
  unsigned pid;
  unsigned long long used;
} process_v1;
typedef struct {
  unsigned pid;
  unsigned long long used;
  unsigned gi, ci;
} process_v3;
typedef struct {
  handle device;
  unsigned long long type, data;
  unsigned gi, ci;
} event;

enum {
  SUCCESS = 0,
  UNINITIALIZED = 1,
  INVALID_ARGUMENT = 2,
  NOT_FOUND = 6,
  INSUFFICIENT_SIZE = 7,
  TIMEOUT = 10,
  IN_USE = 19
};
enum { GUARD = 0xA5, BUFFER_BYTES = 256 };

static void* library;
static int failures;

/* Without a prototype: works if called with arguments of the right types. */
typedef int (*function)();

/* NULL if there is none. ISO C has no conversion from dlsym's answer to a function. */
static function look_for(const char* name) {
  function found = NULL;
  *(void**)&found = dlsym(library, name);
  return found;
}

static function find(const char* name) {
  const function found = look_for(name);
  if (found != NULL) return found;
  printf("the library has no %s\n", name);
  exit(1);
}
#define CALL(name, ...) (find(#name)(__VA_ARGS__))

static void expect(int holds, const char* what, int line) {
  if (holds) return;
  printf("life_cycle.c:%d: %s\n", line, what);
  ++failures;
}
#define EXPECT(condition) expect((condition), #condition, __LINE__)

/* Calls `name` on a buffer of guard bytes: it must write exactly the first `bytes`. The last of
 * those bytes may equal the guard by chance, so only the bytes behind are checked exactly. */
static void guarded(const char* name, handle object, size_t bytes) {
  unsigned char buffer[BUFFER_BYTES];
  memset(buffer, GUARD, sizeof buffer);
  const int result = find(name)(object, buffer);
  size_t behind = bytes;
  while (behind < sizeof buffer && buffer[behind] == GUARD) ++behind;
  if (result == SUCCESS && behind == sizeof buffer && buffer[0] != GUARD) return;
  printf("%s: result %d, wrote at byte %zu of %zu\n", name, result, behind, bytes);
  ++failures;
}

static void before_init(void) {
  unsigned count = 0;
  EXPECT(CALL(nvmlDeviceGetCount_v2, &count) == UNINITIALIZED);
  EXPECT(find("nvmlShutdown")() == UNINITIALIZED);
  const char* (*text)(int) = NULL;
  *(void**)&text = dlsym(library, "nvmlErrorString");
  EXPECT(strcmp(text(IN_USE), "In use by another client") == 0);
}

static handle find_gpu(void) {
  unsigned count = 0;
  handle gpu = NULL;
  handle again = NULL;
  unsigned mode = 0;
  unsigned pending = 0;
  EXPECT(find("nvmlInit_v2")() == SUCCESS);
  EXPECT(CALL(nvmlDeviceGetCount, &count) == SUCCESS && count > 0);
  EXPECT(CALL(nvmlDeviceGetHandleByIndex_v2, count, &gpu) == INVALID_ARGUMENT);
  EXPECT(CALL(nvmlDeviceGetHandleByIndex_v2, 0U, &gpu) == SUCCESS);
  EXPECT(CALL(nvmlDeviceGetHandleByIndex, 0U, &again) == SUCCESS && again == gpu);
  EXPECT(CALL(nvmlDeviceGetMigMode, gpu, &mode, &pending) == SUCCESS && mode == 1 && pending == 1);
  guarded("nvmlDeviceGetPciInfo", gpu, 36);
  guarded("nvmlDeviceGetPciInfo_v2", gpu, 36);
  guarded("nvmlDeviceGetPciInfo_v3", gpu, 68);
  return gpu;
}

/* The first profile with more than one placement; returns the last one. */
static gi_profile choose(handle gpu, placement* place) {
  gi_profile profile;
  placement all[16];
  unsigned known = 0;
  unsigned count = 0;
  gi_profile chosen;
  memset(&chosen, 0, sizeof chosen);
  for (unsigned number = 0;; ++number) {
    const int result = CALL(nvmlDeviceGetGpuInstanceProfileInfo, gpu, number, &profile);
    if (result == INVALID_ARGUMENT) break;
    if (result != SUCCESS) continue;
    ++known;
    EXPECT(CALL(nvmlDeviceGetGpuInstancePossiblePlacements_v2, gpu, profile.id, NULL, &count) ==
           SUCCESS);
    EXPECT(count > 0 && count <= 16);
    EXPECT(CALL(nvmlDeviceGetGpuInstancePossiblePlacements_v2, gpu, profile.id, all, &count) ==
           SUCCESS);
    unsigned capacity = 0;
    EXPECT(CALL(nvmlDeviceGetGpuInstanceRemainingCapacity, gpu, profile.id, &capacity) == SUCCESS);
    EXPECT(capacity == profile.instances);
    if (chosen.slices >= 2 || count < 2 || profile.slices < 2) continue;
    chosen = profile;
    *place = all[count - 1];
  }
  EXPECT(known >= 4 && chosen.slices >= 2);
  return chosen;
}

static handle create_instance(handle gpu, const gi_profile* profile, placement place) {
  handle gi = NULL;
  handle other = NULL;
  gi_info info;
  unsigned before = 0;
  unsigned after = 0;
  CALL(nvmlDeviceGetGpuInstanceRemainingCapacity, gpu, profile->id, &before);
  EXPECT(CALL(nvmlDeviceCreateGpuInstanceWithPlacement, gpu, profile->id, &place, &gi) == SUCCESS);
  EXPECT(CALL(nvmlDeviceCreateGpuInstanceWithPlacement, gpu, profile->id, &place, &other) !=
         SUCCESS);
  EXPECT(CALL(nvmlGpuInstanceGetInfo, gi, &info) == SUCCESS);
  EXPECT(info.device == gpu && info.profile == profile->id);
  EXPECT(info.place.start == place.start && info.place.size == place.size);
  EXPECT(CALL(nvmlDeviceGetGpuInstanceById, gpu, info.id, &other) == SUCCESS && other == gi);
  CALL(nvmlDeviceGetGpuInstanceRemainingCapacity, gpu, profile->id, &after);
  EXPECT(after + 1 == before);
  handle list[8];
  unsigned count = 0;
  EXPECT(CALL(nvmlDeviceGetGpuInstances, gpu, profile->id, list, &count) == SUCCESS);
  EXPECT(count == 1 && list[0] == gi);
  guarded("nvmlGpuInstanceGetInfo", gi, 24);
  return gi;
}

/* The compute instance that fills its GPU instance. */
static handle create_compute(handle gi, unsigned slices) {
  ci_profile profile;
  handle ci = NULL;
  for (unsigned number = 0;; ++number) {
    const int result = CALL(nvmlGpuInstanceGetComputeInstanceProfileInfo, gi, number, 0U, &profile);
    if (result == INVALID_ARGUMENT) break;
    if (result != SUCCESS || profile.slices != slices) continue;
    EXPECT(CALL(nvmlGpuInstanceCreateComputeInstance, gi, profile.id, &ci) == SUCCESS);
    break;
  }
  EXPECT(ci != NULL);
  guarded("nvmlComputeInstanceGetInfo", ci, 24);
  guarded("nvmlComputeInstanceGetInfo_v2", ci, 32);
  return ci;
}

static void look_at_mig_device(handle gpu, handle mig, const gi_profile* profile) {
  char name[64] = "";
  attributes has;
  memory mem;
  handle parent = NULL;
  unsigned is_mig = 0;
  unsigned most = 0;
  unsigned index = 99;
  EXPECT(CALL(nvmlDeviceIsMigDeviceHandle, mig, &is_mig) == SUCCESS && is_mig == 1);
  EXPECT(CALL(nvmlDeviceGetDeviceHandleFromMigDeviceHandle, mig, &parent) == SUCCESS);
  EXPECT(parent == gpu);
  EXPECT(CALL(nvmlDeviceGetIndex, mig, &index) == SUCCESS && index == 0);
  EXPECT(CALL(nvmlDeviceGetMaxMigDeviceCount, gpu, &most) == SUCCESS && most >= 4);
  EXPECT(CALL(nvmlDeviceGetName, mig, name, 64U) == SUCCESS && strstr(name, " MIG 2g.") != NULL);
  EXPECT(CALL(nvmlDeviceGetAttributes_v2, mig, &has) == SUCCESS);
  EXPECT(has.gi_slices == profile->slices && has.ci_slices == profile->slices);
  EXPECT(has.memory_mb == profile->memory_mb && has.sms == profile->sms);
  guarded("nvmlDeviceGetAttributes", mig, 24);
  guarded("nvmlDeviceGetAttributes_v2", mig, 40);
  EXPECT(CALL(nvmlDeviceGetMemoryInfo, mig, &mem) == SUCCESS);
  EXPECT(mem.total == profile->memory_mb << 20 && mem.free + mem.used == mem.total);
}

static void look_up(handle mig, char* uuid) {
  handle again = NULL;
  EXPECT(CALL(nvmlDeviceGetUUID, mig, uuid, 8U) == INSUFFICIENT_SIZE);
  EXPECT(CALL(nvmlDeviceGetUUID, mig, uuid, 80U) == SUCCESS && strncmp(uuid, "MIG-", 4) == 0);
  EXPECT(CALL(nvmlDeviceGetHandleByUUID, uuid, &again) == SUCCESS && again == mig);
  EXPECT(CALL(nvmlDeviceGetHandleByUUID, "MIG-00000000-0000-5000-8000-000000000000", &again) ==
         NOT_FOUND);
}

/* Two calls: how many, then which. The elements of the old version have 16 bytes. */
static void look_at_processes(handle mig, const char* uuid) {
  unsigned count = 0;
  EXPECT(CALL(nvmlDeviceGetComputeRunningProcesses_v3, mig, &count, NULL) == SUCCESS && count == 0);
  const function enter = look_for("tangramEmulatorRegister");
  if (enter == NULL) return; /* on hardware */
  EXPECT(enter(uuid, (unsigned)getpid(), 1ULL << 20) == SUCCESS);
  unsigned char buffer[BUFFER_BYTES];
  memset(buffer, GUARD, sizeof buffer);
  EXPECT(CALL(nvmlDeviceGetComputeRunningProcesses, mig, &count, buffer) == INSUFFICIENT_SIZE);
  EXPECT(count == 1 && buffer[0] == GUARD);
  EXPECT(CALL(nvmlDeviceGetComputeRunningProcesses, mig, &count, buffer) == SUCCESS);
  process_v1 old;
  memcpy(&old, buffer, sizeof old);
  EXPECT(old.pid == (unsigned)getpid() && old.used == 1 << 20);
  EXPECT(buffer[16] == GUARD && memcmp(buffer + 16, buffer + 17, sizeof buffer - 17) == 0);
  process_v3 new;
  memset(&new, 0xFF, sizeof new);
  EXPECT(CALL(nvmlDeviceGetComputeRunningProcesses_v3, mig, &count, &new) == SUCCESS);
  EXPECT(new.pid == old.pid&& new.gi != ~0U && new.ci == 0);
}

static void look_at_events(handle set, handle gpu) {
  unsigned char buffer[BUFFER_BYTES];
  memset(buffer, GUARD, sizeof buffer);
  EXPECT(CALL(nvmlEventSetWait, set, buffer, 5000U) == SUCCESS);
  event first;
  memcpy(&first, buffer, sizeof first);
  EXPECT(first.device == gpu && first.type == 0x100);
  EXPECT(buffer[24] == GUARD && memcmp(buffer + 24, buffer + 25, sizeof buffer - 25) == 0);
  EXPECT(CALL(nvmlEventSetWait_v2, set, &first, 5000U) == SUCCESS && first.gi == ~0U);
  EXPECT(CALL(nvmlEventSetWait_v2, set, &first, 0U) == TIMEOUT);
  EXPECT(CALL(nvmlEventSetFree, set) == SUCCESS);
}

static void destroy(handle gi, handle ci, const char* uuid) {
  const function leave = look_for("tangramEmulatorUnregister");
  EXPECT(CALL(nvmlGpuInstanceDestroy, gi) == IN_USE);
  if (leave != NULL) {
    EXPECT(CALL(nvmlComputeInstanceDestroy, ci) == IN_USE);
    EXPECT(leave(uuid, (unsigned)getpid()) == SUCCESS);
  }
  EXPECT(CALL(nvmlComputeInstanceDestroy, ci) == SUCCESS);
  EXPECT(CALL(nvmlComputeInstanceDestroy, ci) == INVALID_ARGUMENT);
  EXPECT(CALL(nvmlGpuInstanceDestroy, gi) == SUCCESS);
  EXPECT(CALL(nvmlGpuInstanceDestroy, gi) == INVALID_ARGUMENT);
}

int main(int count, char** arguments) {
  if (count != 2 || (library = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL)) == NULL) {
    printf("usage: life_cycle LIBRARY\n%s\n", count == 2 ? dlerror() : "");
    return 2;
  }
  const char* state = getenv("TANGRAM_EMULATOR_STATE");
  if (state != NULL) unlink(state); /* of an earlier run */
  before_init();
  const handle gpu = find_gpu();
  handle set = NULL;
  EXPECT(CALL(nvmlEventSetCreate, &set) == SUCCESS);
  EXPECT(CALL(nvmlDeviceRegisterEvents, gpu, 0x100ULL, set) == SUCCESS);
  placement place = {0, 0};
  const gi_profile profile = choose(gpu, &place);
  const handle gi = create_instance(gpu, &profile, place);
  const handle ci = create_compute(gi, profile.slices);
  look_at_events(set, gpu);
  handle mig = NULL;
  EXPECT(CALL(nvmlDeviceGetMigDeviceHandleByIndex, gpu, 0U, &mig) == SUCCESS);
  ci_info info;
  EXPECT(CALL(nvmlComputeInstanceGetInfo_v2, ci, &info) == SUCCESS);
  EXPECT(info.device == mig && info.gi == gi && info.place.size == profile.slices);
  char uuid[80] = "";
  look_up(mig, uuid);
  look_at_mig_device(gpu, mig, &profile);
  look_at_processes(mig, uuid);
  destroy(gi, ci, uuid);
  EXPECT(CALL(nvmlDeviceGetUUID, mig, uuid, 80U) == INVALID_ARGUMENT);
  EXPECT(CALL(nvmlDeviceGetMigDeviceHandleByIndex, gpu, 0U, &mig) == NOT_FOUND);
  EXPECT(find("nvmlShutdown")() == SUCCESS);
  EXPECT(CALL(nvmlDeviceGetMigMode, gpu, &info.id, &info.profile) == UNINITIALIZED);
  if (state != NULL) unlink(state);
  printf("%d failures\n", failures);
  return failures == 0 ? 0 : 1;
}
