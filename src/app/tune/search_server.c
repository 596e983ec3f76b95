/* app/tune/search_server.c: rank 0's side of a search's sockets, a thread for each other seat. */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>

#include "app/tune/search_counter.h"
#include "app/tune/search_wire.h"

enum { BACKLOG = 1024, HELLO_SECONDS = 5 };

typedef struct link_guest {
    link_server *server;
    pthread_t thread;
    int socket;
    bool begun;
} link_guest;

struct link_server {
    search_counter counter;
    int listener, guests;
    uint8_t secret[LINK_SECRET_BYTES];
    pthread_t greeter; /* accepts the guests */
    bool greets;
    link_guest *guest; /* [guests] */
};

static weft_status serve(link_server *server, const link_message *m, link_answer *answer, double *values)
{
    search_counter *counter = &server->counter;
    switch ((link_call)m->call) {
    case CALL_HELLO:
        return WEFT_OK;
    case CALL_NEXT:
        WEFT_CHECK(m->seat >= 0 && m->seat < counter->crew.seats, WEFT_ERR_INTERNAL, "seat %d of %d", (int)m->seat,
                   counter->crew.seats);
        return counter_next(counter, m->seat, m->leaves, &answer->order, values);
    case CALL_REPORT:
        return counter_report(counter, &m->news, &answer->stops);
    case CALL_END:
        return counter_end(counter, &m->ended, m->failed ? m->words : NULL);
    }
    return weft_fail(WEFT_ERR_INTERNAL, "a group of ranks asks what there is not");
}

static bool answer_guest(const link_guest *guest, link_message *m, double *values)
{
    link_server *server = guest->server;
    link_answer answer = {.status = WEFT_OK};
    const size_t bytes = (size_t)server->counter.desk->space->count * sizeof *values;
    m->words[DESK_WORDS - 1] = '\0';
    answer.status = (int32_t)serve(server, m, &answer, values);
    if (answer.status != WEFT_OK) {
        (void)snprintf(answer.words, sizeof answer.words, "%s", weft_error_message());
        weft_error_clear();
    }
    return wire_send(guest->socket, &answer, sizeof answer) &&
           (m->call != CALL_NEXT || wire_send(guest->socket, values, bytes));
}

static void *attend(void *argument)
{
    const link_guest *guest = argument;
    link_message m;
    double *values = NULL;
    if (WEFT_NEW_ZERO(&values, guest->server->counter.desk->space->count + 1, WEFT_MEM_SEARCH) == WEFT_OK) {
        while (wire_receive(guest->socket, &m, sizeof m) && answer_guest(guest, &m, values)) {
        }
    }
    weft_free(values);
    return NULL;
}

static bool wait_at_most(int socket, int seconds)
{
    const struct timeval limit = {.tv_sec = seconds};
    return setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit) == 0;
}

/* A caller who does not know the secret is none of the job's ranks; one that says nothing holds nobody up for long. */
static bool knows_secret(const link_server *server, int socket)
{
    link_message m;
    const link_answer welcome = {.status = WEFT_OK};
    return wait_at_most(socket, HELLO_SECONDS) && wire_receive(socket, &m, sizeof m) && m.call == CALL_HELLO &&
           memcmp(m.secret, server->secret, sizeof m.secret) == 0 && wait_at_most(socket, 0) &&
           wire_send(socket, &welcome, sizeof welcome);
}

static void *greet(void *argument)
{
    link_server *server = argument;
    for (int i = 0; i < server->guests;) {
        link_guest *guest = &server->guest[i];
        *guest = (link_guest){.server = server, .socket = accept(server->listener, NULL, NULL)};
        if (guest->socket < 0 && errno == EINTR) {
            continue;
        }
        if (guest->socket < 0) {
            break; /* link_finish closed the listener */
        }
        wire_set_prompt(guest->socket);
        guest->begun = knows_secret(server, guest->socket) && pthread_create(&guest->thread, NULL, attend, guest) == 0;
        if (!guest->begun) {
            (void)close(guest->socket);
            continue;
        }
        ++i;
    }
    return NULL;
}

static weft_status listen_for(link_server *server, bool alone, link_place *place)
{
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_addr.s_addr = htonl(alone ? INADDR_LOOPBACK : INADDR_ANY)};
    socklen_t bytes = sizeof address;
    server->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (server->listener < 0 || bind(server->listener, (struct sockaddr *)&address, sizeof address) != 0 ||
        listen(server->listener, BACKLOG) != 0 ||
        getsockname(server->listener, (struct sockaddr *)&address, &bytes) != 0 ||
        getrandom(server->secret, sizeof server->secret, 0) != (ssize_t)sizeof server->secret ||
        gethostname(place->host, sizeof place->host - 1) != 0) {
        return weft_fail(WEFT_ERR_IO, "no socket for the groups of ranks: %s", strerror(errno));
    }
    place->port = ntohs(address.sin_port);
    memcpy(place->secret, server->secret, sizeof place->secret);
    WEFT_CHECK(pthread_create(&server->greeter, NULL, greet, server) == 0, WEFT_ERR_RESOURCE,
               "no thread to answer the groups of ranks");
    server->greets = true;
    return WEFT_OK;
}

weft_status link_serve(search_desk *desk, int seats, int most, bool alone, link_server **out, link_place *place)
{
    link_server *server = NULL;
    *place = (link_place){.port = 0};
    WEFT_TRY(WEFT_NEW_ZERO(&server, 1, WEFT_MEM_SEARCH));
    *out = server;
    *server = (link_server){.listener = -1, .guests = seats - 1};
    WEFT_TRY(counter_open(desk, seats, most, &server->counter));
    WEFT_TRY(WEFT_NEW_ZERO(&server->guest, seats, WEFT_MEM_SEARCH));
    return seats > 1 ? listen_for(server, alone, place) : WEFT_OK;
}

search_counter *link_counter(link_server *server)
{
    return &server->counter;
}

/* The journal's last lines reach the disk before the counter closes. */
static weft_status end_counter(search_counter *counter)
{
    weft_status status = counter_failed(counter);
    status = status == WEFT_OK ? journal_commit(counter->desk->journal) : status;
    status = status == WEFT_OK ? journal_sync(counter->desk->journal) : status;
    counter_close(counter);
    return status;
}

weft_status link_finish(link_server *server)
{
    if (server == NULL) {
        return WEFT_OK;
    }
    if (server->greets) {
        (void)shutdown(server->listener, SHUT_RDWR);
        (void)pthread_join(server->greeter, NULL);
    }
    for (int i = 0; i < server->guests && server->guest != NULL; ++i) {
        if (server->guest[i].begun) {
            (void)pthread_join(server->guest[i].thread, NULL);
            (void)close(server->guest[i].socket);
        }
    }
    if (server->listener >= 0) {
        (void)close(server->listener);
    }
    const weft_status status = end_counter(&server->counter);
    weft_free(server->guest);
    weft_free(server);
    return status;
}
