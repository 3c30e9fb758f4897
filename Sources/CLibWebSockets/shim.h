#pragma once
#include <libwebsockets.h>

// What lws_write() may overwrite in front of the bytes it is given. A macro over sizeof, which Swift cannot read.
static const size_t lws_headroom = LWS_PRE;
