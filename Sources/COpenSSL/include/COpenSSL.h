#pragma once
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>

// The options are macros with a cast in them, which Swift does not import.
static inline void reveille_SSL_CTX_harden(SSL_CTX *context) {
    SSL_CTX_set_options(context, SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_COMPRESSION);
}

// Ends a connection whose peer sends more than `most` records without data after the handshake: key updates, requests to
// negotiate again, tickets, alerts. SSL_read answers them and goes on reading as long as they come (SSL_MODE_AUTO_RETRY),
// so a peer could keep its thread in one call. Before other calls on the context. Any thread.
void reveille_SSL_CTX_bound_records(SSL_CTX *context, unsigned most);

// A macro over a function with variable arguments.
static inline EVP_PKEY *reveille_RSA_generate(unsigned int bits) {
    return EVP_RSA_gen(bits);
}

// The reason is taken from the code by macros.
static inline int reveille_is_pem_end(unsigned long code) {
    return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}
