#include "web_pages.h"

// #embed is C23; Clang has it in every version of C.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char board_actions_js[] = {
#embed "../../Resources/web/board/actions.js"
};
static const unsigned char board_board_css[] = {
#embed "../../Resources/web/board/board.css"
};
static const unsigned char board_board_js[] = {
#embed "../../Resources/web/board/board.js"
};
static const unsigned char board_calls_view_js[] = {
#embed "../../Resources/web/board/calls-view.js"
};
static const unsigned char board_calls_js[] = {
#embed "../../Resources/web/board/calls.js"
};
static const unsigned char board_index_html[] = {
#embed "../../Resources/web/board/index.html"
};
static const unsigned char board_ladder_js[] = {
#embed "../../Resources/web/board/ladder.js"
};
static const unsigned char board_latencies_js[] = {
#embed "../../Resources/web/board/latencies.js"
};
static const unsigned char board_link_js[] = {
#embed "../../Resources/web/board/link.js"
};
static const unsigned char board_lists_js[] = {
#embed "../../Resources/web/board/lists.js"
};
static const unsigned char board_page_js[] = {
#embed "../../Resources/web/board/page.js"
};
static const unsigned char board_problems_js[] = {
#embed "../../Resources/web/board/problems.js"
};
static const unsigned char board_pushes_js[] = {
#embed "../../Resources/web/board/pushes.js"
};
static const unsigned char board_sentences_js[] = {
#embed "../../Resources/web/board/sentences.js"
};
static const unsigned char board_server_view_js[] = {
#embed "../../Resources/web/board/server-view.js"
};
static const unsigned char board_steps_js[] = {
#embed "../../Resources/web/board/steps.js"
};
static const unsigned char board_story_js[] = {
#embed "../../Resources/web/board/story.js"
};
static const unsigned char board_table_js[] = {
#embed "../../Resources/web/board/table.js"
};
static const unsigned char board_text_js[] = {
#embed "../../Resources/web/board/text.js"
};
static const unsigned char phone_devices_js[] = {
#embed "../../Resources/web/phone/devices.js"
};
static const unsigned char phone_dom_js[] = {
#embed "../../Resources/web/phone/dom.js"
};
static const unsigned char phone_history_js[] = {
#embed "../../Resources/web/phone/history.js"
};
static const unsigned char phone_icon_svg[] = {
#embed "../../Resources/web/phone/icon.svg"
};
static const unsigned char phone_index_html[] = {
#embed "../../Resources/web/phone/index.html"
};
static const unsigned char phone_ladder_js[] = {
#embed "../../Resources/web/phone/ladder.js"
};
static const unsigned char phone_line_js[] = {
#embed "../../Resources/web/phone/line.js"
};
static const unsigned char phone_phone_css[] = {
#embed "../../Resources/web/phone/phone.css"
};
static const unsigned char phone_phone_js[] = {
#embed "../../Resources/web/phone/phone.js"
};
static const unsigned char phone_phone_webmanifest[] = {
#embed "../../Resources/web/phone/phone.webmanifest"
};
static const unsigned char phone_push_js[] = {
#embed "../../Resources/web/phone/push.js"
};
static const unsigned char phone_sounds_js[] = {
#embed "../../Resources/web/phone/sounds.js"
};
static const unsigned char phone_stage_js[] = {
#embed "../../Resources/web/phone/stage.js"
};
static const unsigned char phone_tokens_js[] = {
#embed "../../Resources/web/phone/tokens.js"
};
static const unsigned char phone_words_js[] = {
#embed "../../Resources/web/phone/words.js"
};
static const unsigned char phone_worker_js[] = {
#embed "../../Resources/web/phone/worker.js"
};
static const unsigned char reveille_d_ts[] = {
#embed "../../Resources/web/reveille.d.ts"
};
static const unsigned char reveille_js[] = {
#embed "../../Resources/web/reveille.js"
};
static const unsigned char webpush_d_ts[] = {
#embed "../../Resources/web/webpush.d.ts"
};
static const unsigned char webpush_js[] = {
#embed "../../Resources/web/webpush.js"
};

#define FILE_AT(path, bytes) {path, bytes, sizeof bytes}

static const reveille_web_file files[] = {
    FILE_AT("board/actions.js", board_actions_js),
    FILE_AT("board/board.css", board_board_css),
    FILE_AT("board/board.js", board_board_js),
    FILE_AT("board/calls-view.js", board_calls_view_js),
    FILE_AT("board/calls.js", board_calls_js),
    FILE_AT("board/index.html", board_index_html),
    FILE_AT("board/ladder.js", board_ladder_js),
    FILE_AT("board/latencies.js", board_latencies_js),
    FILE_AT("board/link.js", board_link_js),
    FILE_AT("board/lists.js", board_lists_js),
    FILE_AT("board/page.js", board_page_js),
    FILE_AT("board/problems.js", board_problems_js),
    FILE_AT("board/pushes.js", board_pushes_js),
    FILE_AT("board/sentences.js", board_sentences_js),
    FILE_AT("board/server-view.js", board_server_view_js),
    FILE_AT("board/steps.js", board_steps_js),
    FILE_AT("board/story.js", board_story_js),
    FILE_AT("board/table.js", board_table_js),
    FILE_AT("board/text.js", board_text_js),
    FILE_AT("phone/devices.js", phone_devices_js),
    FILE_AT("phone/dom.js", phone_dom_js),
    FILE_AT("phone/history.js", phone_history_js),
    FILE_AT("phone/icon.svg", phone_icon_svg),
    FILE_AT("phone/index.html", phone_index_html),
    FILE_AT("phone/ladder.js", phone_ladder_js),
    FILE_AT("phone/line.js", phone_line_js),
    FILE_AT("phone/phone.css", phone_phone_css),
    FILE_AT("phone/phone.js", phone_phone_js),
    FILE_AT("phone/phone.webmanifest", phone_phone_webmanifest),
    FILE_AT("phone/push.js", phone_push_js),
    FILE_AT("phone/sounds.js", phone_sounds_js),
    FILE_AT("phone/stage.js", phone_stage_js),
    FILE_AT("phone/tokens.js", phone_tokens_js),
    FILE_AT("phone/words.js", phone_words_js),
    FILE_AT("phone/worker.js", phone_worker_js),
    FILE_AT("reveille.d.ts", reveille_d_ts),
    FILE_AT("reveille.js", reveille_js),
    FILE_AT("webpush.d.ts", webpush_d_ts),
    FILE_AT("webpush.js", webpush_js),
};

size_t reveille_web_file_count(void) { return sizeof files / sizeof files[0]; }

reveille_web_file reveille_web_file_at(size_t index) { return files[index]; }
