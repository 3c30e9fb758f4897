#pragma once
#include <libwebsockets.h>
// The library hands out its OpenSSL objects, and is itself built on these.
#include <openssl/pem.h>
#include <openssl/ssl.h>

// What lws_write() may overwrite in front of the bytes it is given. A macro over sizeof, which Swift cannot read.
static const size_t lws_headroom = LWS_PRE;

// The reason is taken from the code by macros.
static inline int reveille_lws_is_pem_end(unsigned long code) {
    return ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
}
