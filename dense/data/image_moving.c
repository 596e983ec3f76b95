/* dense/data/image_moving.c: see dense/data/image_moving.h. */
#include "dense/data/image_moving.h"

#include <string.h>

#include "base/alloc.h"
#include "base/failure/failure.h"
#include "base/grow.h"
#include "base/log.h"
#include "dense/data/motion/motion_track.h"

enum { SAMPLES = 32, GEOMETRY_BYTES = 64, MARGIN_PART = 8 };

/* Consecutive frames of one scene. */
typedef struct window {
    int first, end;
    int before; /* the first frame of the window before it; `first` where that is another scene */
} window;

/* What a rank looks at. */
typedef struct search {
    image_files *files;
    const image_options *options;
    window *window; /* [windows] */
    int windows, capacity;
    int32_t *scene; /* [files->count] */
    /* ---- one window ---- */
    image_shape small;   /* its frames as they are looked at */
    uint8_t *pixels;     /* [MOTION_WINDOW, height, width] */
    uint8_t *background; /* [height, width] of this window */
    bool good[MOTION_WINDOW];
    motion_box (*found)[MOTION_BOXES_MAX];
    int count[MOTION_WINDOW];
    /* ---- this rank's ---- */
    motion_box *box;
    int boxes, room;
    int64_t told[2];      /* frames of another scene, and malformed ones */
    int64_t first_broken; /* the first malformed one; files->count: none */
} search;

/* ---- windows ---- */

static int64_t folder_bytes(const char *name)
{
    const char *slash = strrchr(name, '/');
    return slash != NULL ? slash - name : 0;
}

static bool same_scene(const image_file *a, const image_file *b)
{
    const int64_t bytes = folder_bytes(a->name);
    return a->height == b->height && a->width == b->width && bytes == folder_bytes(b->name) &&
           memcmp(a->name, b->name, (size_t)bytes) == 0;
}

static weft_status list_windows(search *s)
{
    const image_file *file = s->files->file;
    WEFT_TRY(WEFT_NEW(&s->scene, s->files->count, WEFT_MEM_WORKSPACE));
    for (int i = 0, first = 0; i < s->files->count; i = first) {
        const bool goes_on = i > 0 && same_scene(&file[i - 1], &file[i]);
        while (first < s->files->count && first - i < MOTION_WINDOW && same_scene(&file[i], &file[first])) {
            s->scene[first++] = i == 0 ? 0 : s->scene[i - 1] + !goes_on;
        }
        WEFT_TRY(grow_array((void **)&s->window, sizeof *s->window, s->windows, &s->capacity, WEFT_MEM_WORKSPACE));
        const int before = goes_on ? s->window[s->windows - 1].first : i;
        s->window[s->windows++] = (window){.first = i, .end = first, .before = before};
    }
    return WEFT_OK;
}

/* ---- one window ---- */

/* Frames are halved until they are small enough: libjpeg does so while it decodes. */
static int shrink_of(const image_file *file)
{
    int by = 1;
    while (file->height / by > MOTION_SIDE || file->width / by > MOTION_SIDE) {
        by *= 2;
    }
    return by;
}

static weft_status reserve(search *s, const image_file *file)
{
    const int by = shrink_of(file);
    const image_shape small = {.height = file->height / by, .width = file->width / by, .channels = 1};
    s->small = small;
    WEFT_CHECK(small.height > 0 && small.width > 0 && file->height <= IMAGE_SIDE_MAX && file->width <= IMAGE_SIDE_MAX,
               WEFT_ERR_DATA, "%s: %d x %d pixels: frames of a camera have sides of at most %d, and of similar length",
               file->name, file->height, file->width, IMAGE_SIDE_MAX);
    const int64_t bytes = small.height * small.width;
    WEFT_TRY(weft_realloc((void **)&s->pixels, (size_t)(MOTION_WINDOW * bytes), 1, WEFT_MEM_WORKSPACE));
    return weft_realloc((void **)&s->background, (size_t)bytes, 1, WEFT_MEM_WORKSPACE);
}

static uint8_t *frame_at(const search *s, int place)
{
    return s->pixels + place * s->small.height * s->small.width;
}

/* Frames first, first + step, ... before end. A malformed frame has no boxes, and is counted. */
static weft_status decode(search *s, int first, int end, int step)
{
    first_failure failure = {.status = WEFT_OK};
    int64_t malformed = 0, broken = s->first_broken;
#pragma omp parallel for schedule(dynamic, 1) num_threads(s->options->threads) reduction(+ : malformed) \
    reduction(min : broken)
    for (int i = first; i < end; i += step) {
        const weft_status one = image_list_read_as(s->files, &s->files->file[i], &s->small, frame_at(s, i - first));
        const bool pass = one == WEFT_ERR_DATA && !s->options->strict;
        s->good[i - first] = one == WEFT_OK;
        malformed += pass;
        broken = pass && i < broken ? i : broken;
        first_failure_note(&failure, i, pass ? WEFT_OK : one);
    }
    s->told[1] += malformed;
    s->first_broken = broken;
    return first_failure_tell(&failure);
}

static int step_of(int frames)
{
    return (frames + SAMPLES - 1) / SAMPLES;
}

/* Of frames that were decoded. Returns false where none of them is good. */
static bool find_background(search *s, int frames)
{
    const uint8_t *sample[SAMPLES];
    const int64_t height = s->small.height, width = s->small.width;
    int count = 0;
    for (int i = 0; i < frames; i += step_of(frames)) {
        sample[count] = frame_at(s, i);
        count += s->good[i];
    }
#pragma omp parallel for schedule(static) num_threads(s->options->threads)
    for (int64_t y = 0; y < height; ++y) {
        const uint8_t *row[SAMPLES] = {NULL};
        for (int i = 0; i < count; ++i) {
            row[i] = sample[i] + y * width;
        }
        if (count > 0) {
            motion_background(row, count, width, s->background + y * width);
        }
    }
    return count > 0;
}

static weft_status find_boxes(search *s, int frames)
{
    first_failure failure = {.status = WEFT_OK};
    WEFT_TRY(s->found == NULL ? WEFT_NEW(&s->found, MOTION_WINDOW, WEFT_MEM_WORKSPACE) : WEFT_OK);
#pragma omp parallel num_threads(s->options->threads)
    {
        motion_bench bench;
        const weft_status mine = motion_bench_make(s->small.height, s->small.width, &bench);
        first_failure_note(&failure, 0, mine);
#pragma omp for schedule(dynamic, 4)
        for (int i = 0; i < frames; ++i) {
            const bool looks = mine == WEFT_OK && s->good[i];
            s->count[i] = looks ? motion_boxes(&bench, frame_at(s, i), s->background, s->found[i]) : 0;
        }
        motion_bench_free(&bench);
    }
    return first_failure_tell(&failure);
}

/* Boxes of a window in pixels of whole frames. */
static weft_status collect(search *s, const window *w)
{
    const image_file *file = &s->files->file[w->first];
    const int by = shrink_of(file);
    for (int i = 0; i < w->end - w->first; ++i) {
        s->told[0] += s->count[i] < 0;
        for (int k = 0; k < s->count[i]; ++k) {
            motion_box box = s->found[i][k];
            WEFT_TRY(grow_array((void **)&s->box, sizeof *s->box, s->boxes, &s->room, WEFT_MEM_IMAGE));
            box.frame = w->first + i;
            box.left *= by;
            box.top *= by;
            box.width *= by;
            box.height *= by;
            s->box[s->boxes++] = box;
        }
    }
    return WEFT_OK;
}

/* has: s->background is that of the window before. It becomes that of this one. */
static weft_status look_at(search *s, const window *w, bool *has)
{
    const int frames = w->end - w->first, before = w->first - w->before;
    WEFT_TRY(reserve(s, &s->files->file[w->first]));
    if (before > 0 && !*has) {
        const int64_t told = s->told[1];
        WEFT_TRY(decode(s, w->before, w->first, step_of(before)));
        s->told[1] = told; /* whoever looks at that window counts them */
        *has = find_background(s, before);
    }
    WEFT_TRY(decode(s, w->first, w->end, 1));
    if (before == 0 || !*has) {
        *has = find_background(s, frames);
    }
    memset(s->count, 0, sizeof s->count);
    WEFT_TRY(*has ? find_boxes(s, frames) : WEFT_OK);
    WEFT_TRY(collect(s, w));
    *has = find_background(s, frames);
    return WEFT_OK;
}

static weft_status look_at_run(search *s, int begin, int end)
{
    bool has = false;
    for (int i = begin; i < end; ++i) {
        has = has && s->window[i].before < s->window[i].first;
        WEFT_TRY(look_at(s, &s->window[i], &has));
    }
    return WEFT_OK;
}

/* ---- all of them ---- */

static weft_status name_boxes(image_files *files, image_moving *m)
{
    int64_t bytes = 0;
    for (int64_t i = 0; i < m->count; ++i) {
        bytes += (int64_t)strlen(files->file[m->box[i].frame].name) + GEOMETRY_BYTES;
    }
    WEFT_TRY(WEFT_NEW(&m->names, bytes, WEFT_MEM_IMAGE));
    WEFT_TRY(WEFT_NEW(&m->name_at, m->count, WEFT_MEM_IMAGE));
    for (int64_t i = 0, at = 0; i < m->count; ++i) {
        const motion_box *b = &m->box[i];
        m->name_at[i] = at;
        at += 1 + snprintf(m->names + at, (size_t)(bytes - at), "%s#%dx%d+%d+%d", files->file[b->frame].name, b->width,
                           b->height, b->left, b->top);
    }
    return WEFT_OK;
}

/* Boxes of all ranks, in the order of ranks, which is that of frames. Collective. */
static weft_status gather(weft_comm *comm, search *s, image_moving *m)
{
    void *all = NULL;
    size_t *bytes_of = NULL, bytes = 0;
    WEFT_TRY(comm_allreduce(comm, s->told, 2, WEFT_DTYPE_I64, COMM_SUM));
    WEFT_TRY(comm_allreduce(comm, &s->first_broken, 1, WEFT_DTYPE_I64, COMM_MIN));
    const weft_status status = comm_allgather_bytes(comm, s->box, (size_t)s->boxes * sizeof *s->box, &all, &bytes_of);
    for (int r = 0; status == WEFT_OK && r < comm_size(comm); ++r) {
        bytes += bytes_of[r];
    }
    weft_free(bytes_of);
    m->box = all;
    m->count = (int64_t)(bytes / sizeof *m->box);
    m->still = s->told[0];
    return status;
}

static weft_status check(const char *path, const search *s, const image_moving *m)
{
    if (s->told[1] > 0) {
        log_warn("%s: %lld of %d frames malformed, %s first: nothing counts as moving in them", path,
                 (long long)s->told[1], s->files->count, s->files->file[s->first_broken].name);
    }
    if (m->still > 0) {
        log_warn("%s: %lld of %d frames without boxes, because nearly all of the frame differs from its background: "
                 "another scene, or a camera that moves",
                 path, (long long)m->still, s->files->count);
    }
    WEFT_CHECK(
        m->count > 0, WEFT_ERR_DATA,
        "%s: nothing moves in %d frames, or everything does: frames of a still camera are expected, in the order "
        "of their names",
        path, s->files->count);
    return WEFT_OK;
}

static weft_status find(weft_comm *comm, const char *path, search *s, image_moving *m)
{
    weft_status status = list_windows(s);
    const hal_span own = hal_split_rows(s->windows, comm_size(comm), comm_rank(comm));
    status = status == WEFT_OK ? look_at_run(s, (int)own.begin, (int)own.end) : status;
    WEFT_TRY(comm_agree(comm, status));
    WEFT_TRY(gather(comm, s, m));
    WEFT_TRY(check(path, s, m)); /* the same on all ranks */
    status = motion_track(m->box, m->count, s->scene, &m->tracks);
    status = status == WEFT_OK ? name_boxes(s->files, m) : status;
    return comm_agree(comm, status);
}

/* Boxes that an earlier job found. Whether frames are still those of then is for the caller to see by their sums. */
static weft_status take_known(const char *path, const image_options *options, image_files *files, image_moving *m)
{
    WEFT_TRY(WEFT_NEW(&m->box, options->known_count, WEFT_MEM_IMAGE));
    for (int64_t i = 0; i < options->known_count; ++i) {
        const item_origin *from = &options->known[i];
        const image_file *file = (int64_t)from->frame < files->count ? &files->file[from->frame] : NULL;
        WEFT_CHECK(file != NULL && from->left + from->width <= file->width && from->top + from->height <= file->height,
                   WEFT_ERR_DATA,
                   "%s: frame %lld, in which something moved, is missing or has another size (numbers are of the %lld "
                   "frames that are there, in the order of their names): give the frames that were looked at then",
                   path, (long long)from->frame + 1, (long long)files->count);
        m->box[m->count++] = (motion_box){.left = from->left,
                                          .top = from->top,
                                          .width = from->width,
                                          .height = from->height,
                                          .frame = (int32_t)from->frame,
                                          .track = (int32_t)from->track};
        m->tracks = from->track >= m->tracks ? (int64_t)from->track + 1 : m->tracks;
    }
    return name_boxes(files, m);
}

weft_status image_moving_find(weft_comm *comm, const char *path, const image_options *options, image_files *files)
{
    search s = {.files = files, .options = options, .first_broken = files->count};
    WEFT_TRY(comm_agree(comm, WEFT_NEW_ZERO(&files->moving, 1, WEFT_MEM_IMAGE)));
    if (options->known != NULL) {
        return comm_agree(comm, take_known(path, options, files, files->moving));
    }
    const weft_status status = find(comm, path, &s, files->moving);
    WEFT_FREE_ALL(s.window, s.scene, s.pixels, s.background, s.found, s.box);
    return status;
}

void image_moving_free(image_moving *moving)
{
    if (moving != NULL) {
        WEFT_FREE_ALL(moving->box, moving->names, moving->name_at, moving);
    }
}

/* ---- samples ---- */

/* The part of the frame that is cut out: a margin, the proportions of the sample, and no more than the frame has. */
static image_cutout part_of(const motion_box *box, const image_file *file, const image_shape *wanted)
{
    const float high = (float)box->height, wide = (float)box->width;
    float height = high + 2 * high / MARGIN_PART, width = wide + 2 * wide / MARGIN_PART;
    const float shape = (float)wanted->width / (float)wanted->height;
    height = height * shape < width ? width / shape : height;
    width = height * shape;
    const float by_height = height / (float)file->height, by_width = width / (float)file->width;
    const float too_large = by_height > by_width ? by_height : by_width;
    height /= too_large > 1 ? too_large : 1;
    width /= too_large > 1 ? too_large : 1;
    image_cutout part = {.height = height, .width = width};
    part.top = (float)box->top + high / 2 - height / 2;
    part.left = (float)box->left + wide / 2 - width / 2;
    part.top = part.top > 0 ? part.top : 0;
    part.left = part.left > 0 ? part.left : 0;
    part.top = part.top + height > (float)file->height ? (float)file->height - height : part.top;
    part.left = part.left + width > (float)file->width ? (float)file->width - width : part.left;
    return part;
}

/* The smallest size of the frame in which each of its boxes still has the pixels of a sample. Boxes of a frame follow
 * each other, and all of them are cut out of the frame as it is decoded for the first. */
static image_shape least_of(const image_files *files, int64_t number)
{
    const image_moving *m = files->moving;
    const int32_t frame = m->box[number].frame;
    const image_file *file = &files->file[frame];
    int by = 8;
    int64_t first = number;
    while (first > 0 && m->box[first - 1].frame == frame) {
        --first;
    }
    for (int64_t i = first; i < m->count && m->box[i].frame == frame; ++i) {
        const image_cutout part = part_of(&m->box[i], file, &files->wanted);
        while (by > 1 && (part.height < (float)(by * files->wanted.height) || file->height < by || file->width < by)) {
            by /= 2;
        }
    }
    return (image_shape){.height = file->height / by, .width = file->width / by, .channels = files->wanted.channels};
}

weft_status image_moving_cut(image_files *files, int64_t number, uint8_t *pixels)
{
    const motion_box *box = &files->moving->box[number];
    const image_file *file = &files->file[box->frame];
    const image_cutout part = part_of(box, file, &files->wanted);
    const image_shape least = least_of(files, number);
    return image_list_cut(files, box->frame, &least, &part, pixels);
}

item_origin image_moving_origin(const image_files *files, int64_t number)
{
    const motion_box *box = &files->moving->box[number];
    return (item_origin){.sum = files->file[box->frame].sum,
                         .frame = (uint32_t)box->frame,
                         .track = (uint32_t)box->track,
                         .left = (uint16_t)box->left,
                         .top = (uint16_t)box->top,
                         .width = (uint16_t)box->width,
                         .height = (uint16_t)box->height};
}
