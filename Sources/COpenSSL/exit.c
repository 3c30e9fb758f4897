#include <openssl/crypto.h>

// OpenSSL frees what its users share when the process exits, although other threads may still end connections then
// (https://github.com/openssl/openssl/issues/6214): the process would end by a signal. The first call decides.
__attribute__((constructor)) static void free_nothing_at_exit(void) {
    OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}
