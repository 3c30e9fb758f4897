#pragma once
#include <libwebsockets.h>
// The library hands out its OpenSSL objects, and is itself built on these.
#include <openssl/sha.h>
#include <openssl/ssl.h>

// What lws_write() may overwrite in front of the bytes it is given. A macro over sizeof, which Swift cannot read.
static const size_t lws_headroom = LWS_PRE;

static inline void reveille_sha1(const unsigned char *bytes, size_t count, unsigned char *digest) {
    SHA1(bytes, count, digest);
}

// Lets a write take a part of what it is given, and come again with the rest at another address.
static inline void reveille_tls_write_in_parts(SSL *tls) {
    SSL_set_mode(tls, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
}

// How many bytes were taken: 0 when the kernel takes none now, -1 when the connection is broken.
static inline int reveille_tls_write(SSL *tls, const void *bytes, int count) {
    ERR_clear_error();
    int written = SSL_write(tls, bytes, count);
    if (written > 0) return written;
    int error = SSL_get_error(tls, written);
    ERR_clear_error();
    return error == SSL_ERROR_WANT_WRITE || error == SSL_ERROR_WANT_READ ? 0 : -1;
}

// Whether a handshake began and is not done.
static inline int reveille_tls_is_unfinished(SSL *tls) {
    return !SSL_is_init_finished(tls) && BIO_number_read(SSL_get_rbio(tls)) > 0;
}

// Tells the peer that nothing more follows.
static inline void reveille_tls_end(SSL *tls) {
    if (SSL_is_init_finished(tls)) SSL_shutdown(tls);
    ERR_clear_error();
}
