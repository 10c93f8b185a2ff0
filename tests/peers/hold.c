/* A process on an emulated GPU or MIG device, as a CUDA program would be one: it registers itself
   by the emulator's own door, prints its process id, and stays until it is ended. Plain C and
   dlopen, so that it knows of the library no more than any program does. */
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
  Register enter = library ? (Register)dlsym(library, "tangramEmulatorRegister") : NULL;
  if (!enter) {
    fprintf(stderr, "hold: no emulated libnvidia-ml.so.1 here: %s\n", dlerror());
    return 1;
  }
  int result = enter(argv[1], (unsigned)getpid(), strtoull(argv[2], NULL, 10) << 20);
  if (result != 0) {
    fprintf(stderr, "hold: cannot be on %s: NVML says %d\n", argv[1], result);
    return 1;
  }
  printf("%d\n", (int)getpid());
  fflush(stdout);
  pause();
}
