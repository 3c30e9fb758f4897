#include "CPostgreSQL.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>

static struct postgresql functions;
static char failure[256];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void load(void) {
    void *library = dlopen("libpq.so.5", RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        snprintf(failure, sizeof failure, "libpq is not installed (%s)", dlerror());
        return;
    }
    // POSIX (dlsym) has the conversion of an object pointer to a function pointer.
#define POSTGRESQL_LOAD(result, name, parameters) \
    *(void **)&functions.name = dlsym(library, #name); \
    if (!functions.name && !failure[0]) snprintf(failure, sizeof failure, "libpq lacks %s: it is older than 14", #name);
    POSTGRESQL_FUNCTIONS(POSTGRESQL_LOAD)
}

const struct postgresql *postgresql_load(const char **error) {
    pthread_once(&once, load);
    *error = failure[0] ? failure : NULL;
    return failure[0] ? NULL : &functions;
}
