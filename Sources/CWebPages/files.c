#include "web_pages.h"

// #embed is C23; Clang has it in every version of C.
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char reveille_js[] = {
#embed "../../Resources/web/reveille.js"
};
static const unsigned char reveille_d_ts[] = {
#embed "../../Resources/web/reveille.d.ts"
};
static const unsigned char phone_html[] = {
#embed "../../Resources/web/phone/index.html"
};
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

#define FILE_AT(path, bytes) {path, bytes, sizeof bytes}

static const reveille_web_file files[] = {
    FILE_AT("reveille.js", reveille_js),
    FILE_AT("reveille.d.ts", reveille_d_ts),
    FILE_AT("phone/index.html", phone_html),
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
};

size_t reveille_web_file_count(void) { return sizeof files / sizeof files[0]; }

reveille_web_file reveille_web_file_at(size_t index) { return files[index]; }
