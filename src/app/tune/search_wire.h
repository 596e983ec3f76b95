/* app/tune/search_wire.h: what the ranks of a search and rank 0 tell each other over their sockets. */
#pragma once

#include "app/tune/search_link.h"

typedef enum link_call { CALL_HELLO, CALL_NEXT, CALL_REPORT, CALL_END } link_call;

/* What a seat sends; values of a configuration follow an answer to CALL_NEXT. */
typedef struct link_message {
    uint8_t secret[LINK_SECRET_BYTES];
    int32_t call, seat;
    desk_news news;
    desk_ended ended;
    bool failed, leaves;
    char words[DESK_WORDS];
} link_message;

typedef struct link_answer {
    int32_t status;
    bool stops;
    desk_order order;
    char words[FILE_PATH_MAX]; /* of a failure */
} link_answer;

/* All bytes, or false: the other side is gone, or silent for longer than the socket's limit. */
bool wire_send(int socket, const void *data, size_t bytes);
bool wire_receive(int socket, void *data, size_t bytes);
/* Short messages leave at once. */
void wire_set_prompt(int socket);
