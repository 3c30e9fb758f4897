#include "COpenSSL.h"

#include <openssl/crypto.h>
#include <stdint.h>

// The place of a connection's count in its SSL.
static int place = -1;
static CRYPTO_ONCE once = CRYPTO_ONCE_STATIC_INIT;

static void take_place(void) {
    place = SSL_get_ex_new_index(0, NULL, NULL, NULL, NULL);
}

// TLS 1.3 hides the type of a record, and tells it by a call of its own; before, it is the first byte of the header.
static void count_record(int is_write, int version, int kind, const void *bytes, size_t count, SSL *ssl, void *most) {
    if (is_write || (kind != SSL3_RT_HEADER && kind != SSL3_RT_INNER_CONTENT_TYPE) || count == 0) return;
    if (*(const unsigned char *)bytes == SSL3_RT_APPLICATION_DATA || !SSL_is_init_finished(ssl)) return;
    uintptr_t counted = (uintptr_t)SSL_get_ex_data(ssl, place) + 1;
    SSL_set_ex_data(ssl, place, (void *)counted);
    // OpenSSL throws this record away, and each later read is the end of the connection.
    if (counted > (uintptr_t)most) SSL_set_shutdown(ssl, SSL_get_shutdown(ssl) | SSL_RECEIVED_SHUTDOWN);
}

void reveille_SSL_CTX_bound_records(SSL_CTX *context, unsigned most) {
    CRYPTO_THREAD_run_once(&once, take_place);
    SSL_CTX_set_msg_callback(context, count_record);
    SSL_CTX_set_msg_callback_arg(context, (void *)(uintptr_t)most);
}
