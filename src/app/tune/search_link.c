/* app/tune/search_link.c: see app/tune/search_link.h. */
#include "app/tune/search_link.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <string.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/failure/failure.h"

enum { BACKLOG = 1024, HELLO_SECONDS = 5, WAIT_SECONDS = 5 /* less than ranks have patience for each other */ };

typedef enum link_call { CALL_HELLO, CALL_NEXT, CALL_REPORT, CALL_END } link_call;

/* What a group sends; values of a configuration follow an answer to CALL_NEXT. */
typedef struct link_message {
    uint8_t secret[LINK_SECRET_BYTES];
    int32_t call, trial;
    int64_t epoch;
    double number; /* a score, or seconds */
    bool lower, failed;
    char words[DESK_WORDS];
} link_message;

typedef struct link_answer {
    int32_t status;
    bool stops;
    desk_order order;
    char words[FILE_PATH_MAX]; /* of a failure */
} link_answer;

typedef struct link_guest {
    link_server *server;
    pthread_t thread;
    int socket;
    bool begun;
} link_guest;

struct link_server {
    search_desk *desk;
    pthread_mutex_t mutex;
    pthread_cond_t news;
    weft_status failed; /* of the desk */
    char words[FILE_PATH_MAX];
    int listener, groups;
    uint8_t secret[LINK_SECRET_BYTES];
    pthread_t greeter; /* accepts the groups */
    bool greets;
    link_guest *guest; /* [groups] */
};

/* ---- the desk, one call at a time -------------------------------------------------------------------------------- */

static weft_status note(link_server *server, weft_status status)
{
    if (status != WEFT_OK && server->failed == WEFT_OK) {
        server->failed = status;
        (void)snprintf(server->words, sizeof server->words, "%s", weft_error_message());
    }
    (void)pthread_cond_broadcast(&server->news);
    return status;
}

static weft_status again(const link_server *server)
{
    return server->failed == WEFT_OK ? WEFT_OK : weft_fail(server->failed, "%s", server->words);
}

/* Asks once more where something happened within WAIT_SECONDS. */
static weft_status take_next(link_server *server, desk_order *order, double *values)
{
    const search_desk *desk = server->desk;
    struct timespec until;
    (void)clock_gettime(CLOCK_REALTIME, &until);
    until.tv_sec += WAIT_SECONDS;
    (void)pthread_mutex_lock(&server->mutex);
    weft_status status = again(server);
    status = status == WEFT_OK ? note(server, desk_next(server->desk, order)) : status;
    if (status == WEFT_OK && order->waits && pthread_cond_timedwait(&server->news, &server->mutex, &until) == 0) {
        status = again(server);
        status = status == WEFT_OK ? note(server, desk_next(server->desk, order)) : status;
    }
    if (status == WEFT_OK && !order->over && !order->waits) {
        memcpy(values, desk->trial[order->trial].values, (size_t)desk->space->count * sizeof *values);
    }
    (void)pthread_mutex_unlock(&server->mutex);
    return status;
}

static weft_status take_report(link_server *server, int trial, int64_t epoch, double score, bool lower, bool *stops)
{
    (void)pthread_mutex_lock(&server->mutex);
    weft_status status = again(server);
    server->desk->lower = lower;
    status = status == WEFT_OK ? note(server, desk_report(server->desk, trial, epoch, score, stops)) : status;
    (void)pthread_mutex_unlock(&server->mutex);
    return status;
}

static weft_status take_end(link_server *server, int trial, double seconds, const char *failed)
{
    (void)pthread_mutex_lock(&server->mutex);
    weft_status status = again(server);
    status = status == WEFT_OK ? note(server, desk_end(server->desk, trial, seconds, failed)) : status;
    (void)pthread_mutex_unlock(&server->mutex);
    return status;
}

/* ---- sockets ----------------------------------------------------------------------------------------------------- */

static bool send_all(int socket, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0) {
        const ssize_t sent = send(socket, at, bytes, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) {
            continue;
        }
        if (sent <= 0) {
            return false;
        }
        at += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int socket, void *data, size_t bytes)
{
    char *at = data;
    while (bytes > 0) {
        const ssize_t got = recv(socket, at, bytes, 0);
        if (got < 0 && errno == EINTR) {
            continue;
        }
        if (got <= 0) {
            return false;
        }
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

static void answer_at_once(int socket)
{
    const int on = 1;
    (void)setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* ---- rank 0 ------------------------------------------------------------------------------------------------------ */

static weft_status serve(link_server *server, const link_message *m, link_answer *answer, double *values)
{
    switch ((link_call)m->call) {
    case CALL_HELLO:
        return WEFT_OK;
    case CALL_NEXT:
        return take_next(server, &answer->order, values);
    case CALL_REPORT:
        return take_report(server, m->trial, m->epoch, m->number, m->lower, &answer->stops);
    case CALL_END:
        return take_end(server, m->trial, m->number, m->failed ? m->words : NULL);
    }
    return weft_fail(WEFT_ERR_INTERNAL, "a group of ranks asks what there is not");
}

static bool answer_guest(const link_guest *guest, link_message *m, double *values)
{
    link_server *server = guest->server;
    link_answer answer = {.status = WEFT_OK};
    const size_t bytes = (size_t)server->desk->space->count * sizeof *values;
    m->words[DESK_WORDS - 1] = '\0';
    answer.status = (int32_t)serve(server, m, &answer, values);
    if (answer.status != WEFT_OK) {
        (void)snprintf(answer.words, sizeof answer.words, "%s", weft_error_message());
        weft_error_clear();
    }
    return send_all(guest->socket, &answer, sizeof answer) &&
           (m->call != CALL_NEXT || send_all(guest->socket, values, bytes));
}

static void *attend(void *argument)
{
    const link_guest *guest = argument;
    link_message m;
    double *values = NULL;
    if (WEFT_NEW_ZERO(&values, guest->server->desk->space->count + 1, WEFT_MEM_SEARCH) == WEFT_OK) {
        while (receive_all(guest->socket, &m, sizeof m) && answer_guest(guest, &m, values)) {
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
    return wait_at_most(socket, HELLO_SECONDS) && receive_all(socket, &m, sizeof m) && m.call == CALL_HELLO &&
           memcmp(m.secret, server->secret, sizeof m.secret) == 0 && wait_at_most(socket, 0) &&
           send_all(socket, &welcome, sizeof welcome);
}

static void *greet(void *argument)
{
    link_server *server = argument;
    for (int i = 0; i < server->groups;) {
        link_guest *guest = &server->guest[i];
        *guest = (link_guest){.server = server, .socket = accept(server->listener, NULL, NULL)};
        if (guest->socket < 0 && errno == EINTR) {
            continue;
        }
        if (guest->socket < 0) {
            break; /* link_finish closed the listener */
        }
        answer_at_once(guest->socket);
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

weft_status link_serve(search_desk *desk, int groups, bool alone, link_server **out, link_place *place)
{
    link_server *server = NULL;
    *place = (link_place){.port = 0};
    WEFT_TRY(WEFT_NEW_ZERO(&server, 1, WEFT_MEM_SEARCH));
    *out = server;
    *server = (link_server){.desk = desk, .listener = -1, .groups = groups};
    (void)pthread_mutex_init(&server->mutex, NULL);
    (void)pthread_cond_init(&server->news, NULL);
    WEFT_TRY(WEFT_NEW_ZERO(&server->guest, groups + 1, WEFT_MEM_SEARCH));
    return groups > 0 ? listen_for(server, alone, place) : WEFT_OK;
}

void link_hold(link_server *server)
{
    (void)pthread_mutex_lock(&server->mutex);
}

void link_release(link_server *server)
{
    (void)pthread_mutex_unlock(&server->mutex);
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
    for (int i = 0; i < server->groups && server->guest != NULL; ++i) {
        if (server->guest[i].begun) {
            (void)pthread_join(server->guest[i].thread, NULL);
            (void)close(server->guest[i].socket);
        }
    }
    if (server->listener >= 0) {
        (void)close(server->listener);
    }
    const weft_status status = again(server);
    (void)pthread_mutex_destroy(&server->mutex);
    (void)pthread_cond_destroy(&server->news);
    weft_free(server->guest);
    weft_free(server);
    return status;
}

/* ---- a group ----------------------------------------------------------------------------------------------------- */

static weft_status unreachable(const link_place *place, const char *why)
{
    return weft_fail(WEFT_ERR_IO,
                     "rank 0 of the search on %s, port %d: %s: hosts of the job must reach each other by TCP",
                     place->host, (int)place->port, why);
}

static int try_connect(const struct addrinfo *list)
{
    for (const struct addrinfo *at = list; at != NULL; at = at->ai_next) {
        const int made = socket(at->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
        if (made >= 0 && connect(made, at->ai_addr, at->ai_addrlen) == 0) {
            return made;
        }
        if (made >= 0) {
            (void)close(made);
        }
    }
    return -1;
}

/* On rank 0's own host its name need not be known. */
static weft_status connect_to(const link_place *place, int *socket)
{
    char own[LINK_HOST_BYTES] = "", port[16];
    const struct addrinfo hints = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *list = NULL;
    (void)gethostname(own, sizeof own - 1);
    (void)snprintf(port, sizeof port, "%d", (int)place->port);
    const char *host = strcmp(own, place->host) == 0 ? "127.0.0.1" : place->host;
    const int found = getaddrinfo(host, port, &hints, &list);
    if (found != 0) {
        return unreachable(place, gai_strerror(found));
    }
    *socket = try_connect(list);
    freeaddrinfo(list);
    if (*socket < 0) {
        return unreachable(place, strerror(errno));
    }
    answer_at_once(*socket);
    return WEFT_OK;
}

static weft_status ask(const search_link *link, const link_message *m, link_answer *answer, double *values)
{
    const size_t bytes = (size_t)link->dimensions * sizeof *values;
    const bool heard = send_all(link->socket, m, sizeof *m) && receive_all(link->socket, answer, sizeof *answer) &&
                       (values == NULL || receive_all(link->socket, values, bytes));
    WEFT_CHECK(heard, WEFT_ERR_IO, "rank 0 of the search does not answer any more");
    answer->words[sizeof answer->words - 1] = '\0';
    return answer->status == WEFT_OK ? WEFT_OK : weft_fail((weft_status)answer->status, "%s", answer->words);
}

weft_status link_open(link_server *server, const link_place *place, int dimensions, search_link *link)
{
    link_message hello = {.call = CALL_HELLO};
    link_answer answer;
    *link = (search_link){.server = server, .socket = -1, .dimensions = dimensions};
    if (server != NULL) {
        return WEFT_OK;
    }
    memcpy(hello.secret, place->secret, sizeof hello.secret);
    WEFT_TRY(connect_to(place, &link->socket));
    return ask(link, &hello, &answer, NULL);
}

void link_close(search_link *link)
{
    if (link->server == NULL && link->socket > 0) {
        (void)close(link->socket);
    }
    *link = (search_link){.socket = -1};
}

weft_status link_next(search_link *link, desk_order *order, double *values)
{
    const link_message m = {.call = CALL_NEXT};
    link_answer answer;
    if (link->server != NULL) {
        return take_next(link->server, order, values);
    }
    WEFT_TRY(ask(link, &m, &answer, values));
    *order = answer.order;
    return WEFT_OK;
}

weft_status link_report(search_link *link, int trial, int64_t epoch, double score, bool lower, bool *stops)
{
    const link_message m = {.call = CALL_REPORT, .trial = trial, .epoch = epoch, .number = score, .lower = lower};
    link_answer answer;
    if (link->server != NULL) {
        return take_report(link->server, trial, epoch, score, lower, stops);
    }
    WEFT_TRY(ask(link, &m, &answer, NULL));
    *stops = answer.stops;
    return WEFT_OK;
}

weft_status link_end(search_link *link, int trial, double seconds, const char *failed)
{
    link_message m = {.call = CALL_END, .trial = trial, .number = seconds, .failed = failed != NULL};
    link_answer answer;
    if (link->server != NULL) {
        return take_end(link->server, trial, seconds, failed);
    }
    (void)snprintf(m.words, sizeof m.words, "%s", failed != NULL ? failed : "");
    return ask(link, &m, &answer, NULL);
}
