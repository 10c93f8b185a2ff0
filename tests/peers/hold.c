/* Occupies an emulated GPU or MIG device as a CUDA program would: registers itself through the
   emulator's extra function, prints its process ID, and stays until it is killed. Plain C and
   dlopen, as other programs load the library. */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

typedef int (*Register)(const char* uuid, unsigned pid, unsigned long long memory_bytes);

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: hold UUID MIB\n");
    return 2;
  }
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW);
  Register register_process = library ? (Register)dlsym(library, "tangramEmulatorRegister") : NULL;
  if (!register_process) {
    fprintf(stderr, "hold: cannot load the emulated libnvidia-ml.so.1: %s\n", dlerror());
    return 1;
  }
  int result = register_process(argv[1], (unsigned)getpid(), strtoull(argv[2], NULL, 10) << 20);
  if (result != 0) {
    fprintf(stderr, "hold: cannot register on %s: NVML error %d\n", argv[1], result);
    return 1;
  }
  printf("%d\n", (int)getpid());
  fflush(stdout);
  pause();
}
