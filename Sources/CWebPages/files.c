#include "web_pages.h"

// #embed is C23; Clang has it in every version of C.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char reveille_js[] = {
#embed "../../Resources/web/reveille.js"
};
static const unsigned char phone_html[] = {
#embed "../../Resources/web/phone/index.html"
};

#define FILE_AT(path, bytes) {path, bytes, sizeof bytes}

static const reveille_web_file files[] = {
    FILE_AT("reveille.js", reveille_js),
    FILE_AT("phone/index.html", phone_html),
};

size_t reveille_web_file_count(void) { return sizeof files / sizeof files[0]; }

reveille_web_file reveille_web_file_at(size_t index) { return files[index]; }
